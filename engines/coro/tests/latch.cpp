// SPDX-License-Identifier: Apache-2.0
#include <coro/latch.hpp>

#include <coro/fiber.hpp>
#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

using coro::lazy;

TEST("everybody goes on at zero, in order, and later comers do not wait")
{
    coro::loop loop;
    coro::latch two(2);
    std::string order;
    const auto waits = [&](char name) -> lazy<> {
        co_await two.wait();
        order += name;
    };
    coro::spawn(loop, waits('a'));
    coro::spawn(loop, waits('b'));
    loop.run();
    two.count_down();
    loop.run();
    CHECK(order.empty() && !two.done());
    two.count_down();
    coro::spawn(loop, waits('c'));
    loop.run();
    CHECK(order == "abc" && two.done());
}

TEST("fibers and lazies of several threads count down together")
{
    for (std::size_t round = 0; round < test::many(200, 30); round++) {
        coro::pool pool(2);
        coro::latch all(20);
        for (int i = 0; i < 10; i++) {
            coro::spawn(pool, [](coro::latch &of) -> lazy<> {
                of.count_down();
                co_return;
            }(all));
            coro::fiber::spawn(pool, [&] { all.count_down(); }).detach();
        }
        coro::sync_wait([](coro::latch &of) -> lazy<> { co_await of.wait(); }(all), round % 2 == 0 ? &pool : nullptr);
        CHECK(all.done());
    }
}

TEST("stop ends the wait")
{
    coro::loop loop;
    coro::latch never(1);
    std::stop_source source;
    coro::spawn(loop, [](std::stop_source &of) -> lazy<> {
        of.request_stop();
        co_return;
    }(source));
    CHECK(test::throws<coro::cancelled>(
        [&] { loop.run([](coro::latch &of) -> lazy<> { co_await of.wait(); }(never), source.get_token()); }));
}
