// SPDX-License-Identifier: Apache-2.0
#include <coro/loop.hpp>

#include <coro/latch.hpp>
#include <coro/pool.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

using coro::lazy;
using namespace std::chrono_literals;

TEST("run(lazy) gives its value and throws its exception")
{
    coro::loop loop;
    const auto value = []() -> lazy<int> {
        co_await coro::yield();
        co_return 3;
    };
    const auto failing = []() -> lazy<int> {
        co_await coro::yield();
        throw std::runtime_error("inside");
    };
    CHECK(loop.run(value()) == 3);
    CHECK(test::throws<std::runtime_error>([&] { loop.run(failing()); }));
    CHECK(loop.run(value()) == 3);
}

TEST("run() returns when nothing is left, at once when nothing was there")
{
    coro::loop loop;
    loop.run();
    int ended = 0;
    for (int i = 0; i < 10; i++)
        coro::spawn(loop, [](int &count, int turns) -> lazy<> {
            for (int k = 0; k < turns; k++)
                co_await coro::yield();
            co_await coro::sleep(1ms);
            count++;
        }(ended, i));
    loop.run();
    CHECK(ended == 10);
}

TEST("what other threads schedule wakes a sleeping loop, and nothing is lost")
{
    coro::loop loop;
    const std::size_t each = test::many(20'000, 1'000);
    coro::latch done(4 * each);
    std::size_t count = 0; // on the loop's thread alone
    const auto one = [](std::size_t &counter, coro::latch &end) -> lazy<> {
        counter++;
        end.count_down();
        co_return;
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (std::size_t i = 0; i < each; i++) {
                coro::spawn(loop, one(count, done));
                if (i % 1000 == 0)
                    std::this_thread::sleep_for(100us);
            }
        });
    loop.run([](coro::latch &end) -> lazy<> { co_await end.wait(); }(done));
    for (std::thread &thread : threads)
        thread.join();
    CHECK(count == 4 * each);
}

TEST("a loop can be run inside another one")
{
    coro::loop outer, inner;
    const auto below = []() -> lazy<int> {
        co_await coro::sleep(1ms);
        co_return 1;
    };
    const auto above = [&]() -> lazy<int> {
        const int one = inner.run(below());
        co_await coro::yield();
        co_return one + (coro::detail::this_thread().executor == &outer ? 1 : 0);
    };
    CHECK(outer.run(above()) == 2);
}

TEST("whoever waits for visitors goes on when the last one has left")
{
    coro::detail::visitors visitors;
    std::atomic<bool> alone{false};
    auto visit = std::make_unique<coro::detail::visitors::visit>(visitors);
    std::thread owner([&] {
        visitors.wait();
        alone = true;
    });
    std::this_thread::sleep_for(5ms);
    CHECK(!alone.load());
    visit.reset();
    owner.join();
    CHECK(alone.load());
}

// ThreadSanitizer and AddressSanitizer see it, now and then, when the loop goes while the other thread still wakes it.
TEST("a loop may go as soon as its last work is done, whoever has scheduled it")
{
    coro::pool pool(1);
    for (std::size_t round = 0; round < test::many(2'000, 300); round++) {
        auto loop = std::make_unique<coro::loop>();
        CHECK(loop->run([](coro::pool &there) -> lazy<int> {
            co_return co_await coro::on(there, []() -> lazy<int> { co_return 3; }());
        }(pool)) == 3);
        loop.reset();
    }
}
