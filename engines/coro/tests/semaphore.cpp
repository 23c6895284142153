// SPDX-License-Identifier: Apache-2.0
#include <coro/semaphore.hpp>

#include <coro/latch.hpp>
#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

#include <atomic>

using coro::lazy;

TEST("no more than the permits are inside, on two threads")
{
    coro::pool pool(2);
    coro::semaphore permits(3);
    coro::latch done(50);
    std::atomic<int> inside{0}, most{0};
    const auto body = [&]() -> lazy<> {
        for (int i = 0; i < 100; i++) {
            co_await permits.acquire();
            const int now = ++inside;
            int seen = most.load();
            while (now > seen && !most.compare_exchange_weak(seen, now)) {
            }
            co_await coro::yield();
            --inside;
            permits.release();
        }
        done.count_down();
    };
    for (int i = 0; i < 50; i++)
        coro::spawn(pool, body());
    coro::sync_wait([](coro::latch &all) -> lazy<> { co_await all.wait(); }(done));
    CHECK(most <= 3 && most >= 1 && inside == 0);
}

TEST("a permit that is released goes to whoever has waited longest, else it is kept")
{
    coro::loop loop;
    coro::semaphore permits(0);
    std::string order;
    const auto one = [&](char name) -> lazy<> {
        co_await permits.acquire();
        order += name;
    };
    for (const char name : {'a', 'b'})
        coro::spawn(loop, one(name));
    loop.run();
    CHECK(order.empty());
    for (int i = 0; i < 3; i++)
        permits.release();
    loop.run();
    CHECK(order == "ab");
    CHECK(permits.try_acquire() && !permits.try_acquire());
}

TEST("stop ends the wait and takes no permit")
{
    coro::loop loop;
    coro::semaphore permits(0);
    std::stop_source source;
    coro::spawn(loop, [](std::stop_source &of) -> lazy<> {
        of.request_stop();
        co_return;
    }(source));
    CHECK(test::throws<coro::cancelled>(
        [&] { loop.run([](coro::semaphore &of) -> lazy<> { co_await of.acquire(); }(permits), source.get_token()); }));
    permits.release();
    CHECK(permits.try_acquire());
}
