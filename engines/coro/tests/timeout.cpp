// SPDX-License-Identifier: Apache-2.0
#include <coro/timeout.hpp>

#include <coro/channel.hpp>
#include <coro/fiber.hpp>
#include <coro/loop.hpp>

#include "test.hpp"

#include <stop_token>

using coro::lazy;
using namespace std::chrono_literals;

static lazy<int> after(std::chrono::milliseconds time, int value)
{
    co_await coro::sleep(time);
    co_return value;
}

TEST("what is in time gives its value, what is not is stopped and throws")
{
    coro::loop loop;
    CHECK(loop.run(coro::with_timeout(10s, after(1ms, 5))) == 5);
    CHECK(test::throws<coro::timed_out>([&] { loop.run(coro::with_timeout(1ms, after(10s, 5))); }));
    const auto nothing = []() -> lazy<> { co_return; };
    loop.run(coro::with_timeout(10s, nothing()));
}

TEST("anything that can be awaited can time out, in a fiber as well")
{
    coro::loop loop;
    coro::channel<int> channel(1);
    const auto body = [&]() -> lazy<bool> {
        bool late = false;
        try {
            co_await coro::with_timeout(1ms, channel.pop());
        } catch (const coro::timed_out &) {
            late = true;
        }
        co_await coro::with_timeout(10s, channel.push(3));
        co_return late && *co_await coro::with_timeout(10s, channel.pop()) == 3;
    };
    CHECK(loop.run(body()));
    bool late = false;
    coro::fiber::spawn(loop, [&] {
        late = test::throws<coro::timed_out>([&] { coro::fiber::await(coro::with_timeout(1ms, channel.pop())); });
    }).detach();
    loop.run();
    CHECK(late);
}

TEST("a stop from outside is no timeout")
{
    coro::loop loop;
    std::stop_source stop;
    stop.request_stop();
    CHECK(test::throws<coro::cancelled>([&] { loop.run(coro::with_timeout(10s, after(10s, 5)), stop.get_token()); }));
}
