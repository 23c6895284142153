// SPDX-License-Identifier: Apache-2.0
#include <coro/when_any.hpp>

#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

#include <stdexcept>
#include <string>
#include <thread>

using coro::lazy;
using namespace std::chrono_literals;

static lazy<int> later(std::chrono::nanoseconds after, int value)
{
    co_await coro::sleep(after);
    co_return value;
}

static lazy<std::string> text_later(std::chrono::nanoseconds after)
{
    co_await coro::sleep(after);
    co_return "text";
}

TEST("the first one's value comes back and the others are stopped, not waited out")
{
    coro::loop loop;
    const auto body = []() -> lazy<std::string> {
        const auto first = co_await coro::when_any(later(1h, 1), text_later(1ms), later(1h, 3));
        co_return first.index() == 1 ? std::get<1>(first) : "wrong";
    };
    CHECK(loop.run(body()) == "text");
}

TEST("one that ends at once wins, and the others have begun and ended")
{
    coro::loop loop;
    int ended = 0;
    const auto waits = [&]() -> lazy<> {
        try {
            co_await coro::sleep(1h);
        } catch (const coro::cancelled &) {
            ended++;
            throw;
        }
    };
    const auto at_once = []() -> lazy<int> { co_return 5; };
    const auto body = [&]() -> lazy<int> {
        const auto first = co_await coro::when_any(waits(), at_once(), waits());
        co_return std::get<1>(first);
    };
    CHECK(loop.run(body()) == 5 && ended == 2);
}

TEST("the first one's exception comes out")
{
    coro::loop loop;
    const auto failing = []() -> lazy<int> {
        co_await coro::yield();
        throw std::runtime_error("first");
    };
    const auto body = [&]() -> lazy<> { co_await coro::when_any(failing(), later(1h, 1)); };
    CHECK(test::throws<std::runtime_error>([&] { loop.run(body()); }));
}

TEST("a stop from outside reaches all of them")
{
    coro::loop loop;
    std::stop_source source;
    std::thread stopper([&] {
        std::this_thread::sleep_for(1ms);
        source.request_stop();
    });
    const auto body = []() -> lazy<> { co_await coro::when_any(later(1h, 1), later(1h, 2)); };
    CHECK(test::throws<coro::cancelled>([&] { loop.run(body(), source.get_token()); }));
    stopper.join();
}

TEST("parts that end together on several threads have one winner")
{
    coro::pool pool(2);
    for (std::size_t round = 0; round < test::many(300, 50); round++) {
        const auto body = [&]() -> lazy<std::size_t> {
            const auto part = [&]() -> lazy<int> { co_return co_await coro::on(pool, later(50us, 1)); };
            const auto first = co_await coro::when_any(part(), part(), part());
            co_return first.index();
        };
        CHECK(coro::sync_wait(body(), &pool) < 3);
    }
}

TEST("of a vector the place of the first one and its value come back")
{
    coro::loop loop;
    const auto body = []() -> lazy<int> {
        std::vector<lazy<int>> parts;
        for (const int ms : {500, 1, 500})
            parts.push_back([](int after) -> lazy<int> {
                co_await coro::sleep(std::chrono::milliseconds(after));
                co_return after;
            }(ms));
        const auto [first, value] = co_await coro::when_any(std::move(parts));
        co_return static_cast<int>(first) * 100 + value;
    };
    CHECK(loop.run(body()) == 101);
}

TEST("a race keeps what the others bring, values and exceptions")
{
    coro::loop loop;
    const auto slow = []() -> lazy<int> {
        try {
            co_await coro::sleep(100s);
        } catch (const coro::cancelled &) {
        }
        co_return 5;
    };
    const auto stopped = []() -> lazy<> { co_await coro::sleep(100s); };
    const auto quick = []() -> lazy<int> {
        co_await coro::yield();
        throw std::runtime_error("quick");
    };
    const auto body = [&]() -> lazy<bool> {
        auto raced = co_await coro::race(slow(), quick(), stopped());
        auto &results = raced.second; // clang 14 captures no structured binding
        co_return raced.first == 1 && std::get<0>(results).take() == 5 && !std::get<1>(results).has_value() &&
            test::throws<coro::cancelled>([&] { std::get<2>(results).take(); });
    };
    CHECK(loop.run(body()));
}
