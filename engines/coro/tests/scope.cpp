// SPDX-License-Identifier: Apache-2.0
#include <coro/scope.hpp>

#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/sleep.hpp>

#include "test.hpp"

#include <atomic>
#include <stdexcept>
#include <stop_token>

using coro::lazy;
using namespace std::chrono_literals;

TEST("it ends when all that was spawned in it has, by whomever")
{
    coro::pool pool(2);
    std::atomic<int> ended{0};
    const auto leaf = [&]() -> lazy<> {
        co_await coro::sleep(100us);
        ended++;
    };
    const auto branch = [&](coro::scope &in) -> lazy<> {
        for (int i = 0; i < 5; i++)
            in.spawn(leaf());
        co_return;
    };
    const auto body = [&]() -> lazy<int> {
        co_await coro::with_scope([&](coro::scope &tasks) -> lazy<> {
            for (int i = 0; i < 10; i++)
                tasks.spawn(branch(tasks));
            co_return;
        });
        co_return ended.load();
    };
    for (std::size_t round = 0; round < test::many(50, 5); round++) {
        ended = 0;
        CHECK(coro::sync_wait(body(), &pool) == 50);
    }
}

TEST("an exception stops the others, and is thrown when they have ended")
{
    coro::loop loop;
    int stopped = 0;
    const auto waits = [&]() -> lazy<> {
        try {
            co_await coro::sleep(100s);
        } catch (const coro::cancelled &) {
            stopped++;
            throw;
        }
    };
    const auto fails = []() -> lazy<> {
        co_await coro::yield();
        throw std::runtime_error("one");
    };
    const auto body = [&]() -> lazy<> {
        co_await coro::with_scope([&](coro::scope &tasks) -> lazy<> {
            tasks.spawn(waits());
            tasks.spawn(fails());
            co_await waits();
        });
    };
    CHECK(test::throws<std::runtime_error>([&] { loop.run(body()); }));
    CHECK(stopped == 2);
}

TEST("a stop from outside reaches all, one from inside is no failure")
{
    coro::loop loop;
    std::stop_source stop;
    int ended = 0;
    const auto waits = [&]() -> lazy<> {
        co_await coro::sleep(100s);
        ended++;
    };
    const auto outside = [&]() -> lazy<> {
        co_await coro::with_scope([&](coro::scope &tasks) -> lazy<> {
            tasks.spawn(waits());
            stop.request_stop();
            co_return;
        });
    };
    CHECK(test::throws<coro::cancelled>([&] { loop.run(outside(), stop.get_token()); }));
    const auto inside = [&]() -> lazy<> {
        co_await coro::with_scope([&](coro::scope &tasks) -> lazy<> {
            tasks.spawn(waits());
            co_await coro::yield();
            tasks.request_stop();
        });
    };
    loop.run(inside());
    CHECK(ended == 0);
}
