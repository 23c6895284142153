// SPDX-License-Identifier: Apache-2.0
#include <coro/spawn.hpp>

#include <coro/latch.hpp>
#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/sleep.hpp>

#include "test.hpp"

#include <thread>

using coro::lazy;
using namespace std::chrono_literals;

TEST("a spawned lazy runs by itself, is destroyed at its end, and may be stopped")
{
    coro::loop loop;
    test::counted::alive = 0;
    std::stop_source source;
    int steps = 0;
    coro::spawn(
        loop,
        [](test::counted, int &count) -> lazy<> {
            for (;;) {
                count++;
                co_await coro::sleep(1h);
            }
        }({}, steps),
        source.get_token());
    CHECK(steps == 0);
    coro::spawn(loop, [](std::stop_source &of) -> lazy<> {
        co_await coro::yield();
        of.request_stop();
    }(source));
    loop.run();
    CHECK(steps == 1 && test::counted::alive == 0);
}

TEST("on() runs the lazy and what it calls there, and comes back")
{
    coro::loop home;
    coro::pool there(1);
    const auto where = []() -> lazy<std::thread::id> { co_return std::this_thread::get_id(); };
    const auto calls = [&]() -> lazy<std::thread::id> {
        co_await coro::yield();
        co_return co_await where();
    };
    const auto body = [&]() -> lazy<bool> {
        const std::thread::id before = std::this_thread::get_id();
        const std::thread::id meanwhile = co_await coro::on(there, calls());
        co_return meanwhile != before &&std::this_thread::get_id() == before;
    };
    CHECK(home.run(body()));
}

TEST("sync_wait blocks a thread until another one has ended the lazy")
{
    coro::pool pool(2);
    const auto slow = []() -> lazy<int> {
        co_await coro::sleep(2ms);
        co_return 9;
    };
    CHECK(coro::sync_wait(slow(), &pool) == 9);
    CHECK(test::throws<std::logic_error>([&] { coro::sync_wait(slow()); })); // no executor: nothing to sleep on
}

TEST("with_stop replaces the token of whoever waits")
{
    coro::loop loop;
    std::stop_source outer, inner;
    outer.request_stop();
    const auto asks = []() -> lazy<bool> { co_return (co_await coro::current_stop_token()).stop_requested(); };
    const auto body = [&]() -> lazy<bool> {
        co_return co_await asks() && !co_await coro::with_stop(inner.get_token(), asks());
    };
    CHECK(loop.run(body(), outer.get_token()));
}
