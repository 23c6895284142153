// SPDX-License-Identifier: Apache-2.0
#include <coro/parallel.hpp>

#include <coro/latch.hpp>
#include <coro/loop.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

using coro::lazy;
using namespace std::chrono_literals;

static lazy<int> fibonacci(int n)
{
    if (n < 2)
        co_return n;
    const auto [a, b] = co_await coro::parallel(fibonacci(n - 1), fibonacci(n - 2));
    co_return a + b;
}

TEST("a tree of forks gives what it would without, on any number of threads and on a loop")
{
    const int n = static_cast<int>(test::many(22, 14)), expected = static_cast<int>(test::many(17711, 377));
    for (const std::size_t threads : {1u, 2u, 4u}) {
        coro::pool pool(threads);
        for (int round = 0; round < 10; round++)
            CHECK(coro::sync_wait(fibonacci(n), &pool) == expected);
    }
    coro::loop loop;
    CHECK(loop.run(fibonacci(14)) == 377);
}

TEST("parts run at the same time: each of two waits for the other, without suspending")
{
    coro::pool pool(2);
    std::atomic<int> arrived{0};
    std::set<std::thread::id> seen;
    std::mutex lock;
    const auto part = [&]() -> lazy<> {
        arrived++;
        while (arrived.load() != 2)
            std::this_thread::yield();
        const std::lock_guard hold(lock);
        seen.insert(std::this_thread::get_id());
        co_return;
    };
    const auto body = [&]() -> lazy<> { co_await coro::parallel(part(), part()); };
    coro::sync_wait(body(), &pool);
    CHECK(seen.size() == 2 && pool.statistics().stolen >= 1);
}

TEST("parts that wait for something let the next ones begin")
{
    for (const std::size_t threads : {1u, 2u}) {
        coro::pool pool(threads);
        coro::latch all_begun(10);
        const auto part = [&](int value) -> lazy<int> {
            all_begun.count_down();
            co_await all_begun.wait();
            co_await coro::sleep(std::chrono::microseconds(100 * (value % 3)));
            co_return value;
        };
        const auto body = [&]() -> lazy<int> {
            std::vector<lazy<int>> all;
            for (int i = 0; i < 10; i++)
                all.push_back(part(i));
            int sum = 0, place = 0;
            for (const int each : co_await coro::parallel(std::move(all)))
                sum += each == place++ ? each : 1000;
            co_return sum;
        };
        CHECK(coro::sync_wait(body(), &pool) == 45);
    }
}

TEST("none, one, and an exception, which waits for the others")
{
    coro::pool pool(2);
    std::atomic<int> ended{0};
    const auto failing = []() -> lazy<> {
        throw std::runtime_error("one");
        co_return;
    };
    const auto slow = [&]() -> lazy<> {
        co_await coro::sleep(2ms);
        ended++;
    };
    const auto body = [&]() -> lazy<> {
        CHECK((co_await coro::parallel(std::vector<lazy<int>>{})).empty());
        std::vector<lazy<int>> single;
        single.push_back(fibonacci(5));
        CHECK((co_await coro::parallel(std::move(single))).at(0) == 5);
        co_await coro::parallel(slow(), failing(), slow());
    };
    CHECK(test::throws<std::runtime_error>([&] { coro::sync_wait(body(), &pool); }));
    CHECK(ended.load() == 2);
}

TEST("a fork that is part of a long tree does not keep what was scheduled before it")
{
    coro::pool pool(1);
    std::atomic<bool> other_ran{false}, tree_ended{false}, before{false};
    coro::latch done(2);
    const auto tree = [&]() -> lazy<> {
        coro::spawn(pool, [](auto &ran, auto &ended, auto &first, coro::latch &end) -> lazy<> {
            ran = true;
            first = !ended.load();
            end.count_down();
            co_return;
        }(other_ran, tree_ended, before, done));
        co_await fibonacci(18);
        tree_ended = true;
        done.count_down();
    };
    coro::spawn(pool, tree());
    coro::sync_wait([](coro::latch &end) -> lazy<> { co_await end.wait(); }(done));
    CHECK(other_ran && before);
}

TEST("lazies in parts keep their values of any kind, and parts may end on another executor")
{
    coro::pool pool(2), other(1);
    const auto text = [](const char *of) -> lazy<std::string> { co_return of; };
    const auto far = [&]() -> lazy<int> {
        co_await coro::resume_on(other);
        co_return 7;
    };
    const auto body = [&]() -> lazy<std::string> {
        auto [a, b, c] = co_await coro::parallel(text("one "), far(), text("two"));
        co_return a + std::to_string(b) + c;
    };
    for (std::size_t round = 0; round < test::many(1000, 100); round++)
        CHECK(coro::sync_wait(body(), &pool) == "one 7two");
}
