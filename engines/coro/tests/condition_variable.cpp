// SPDX-License-Identifier: Apache-2.0
#include <coro/condition_variable.hpp>

#include <coro/latch.hpp>
#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

#include <stop_token>

using coro::lazy;

TEST("whoever waits releases the mutex, and has it again when it goes on")
{
    coro::loop loop;
    coro::mutex mutex;
    coro::condition_variable changed;
    int value = 0;
    const auto waiter = [&]() -> lazy<> {
        auto hold = co_await mutex.lock();
        co_await changed.wait(hold, [&] { return value == 2; });
        CHECK(hold.owns_lock() && !mutex.try_lock());
        value = 3;
    };
    const auto changer = [&]() -> lazy<> {
        for (int i = 1; i <= 2; i++) {
            {
                const auto hold = co_await mutex.lock();
                value = i;
            }
            changed.notify_one();
            co_await coro::yield();
        }
    };
    coro::spawn(loop, waiter());
    coro::spawn(loop, changer());
    loop.run();
    CHECK(value == 3 && mutex.try_lock());
    mutex.unlock();
}

TEST("a wait that is stopped holds the mutex when it throws")
{
    coro::loop loop;
    coro::mutex mutex;
    coro::condition_variable changed;
    std::stop_source stop;
    bool held = false;
    const auto waiter = [&]() -> lazy<> {
        auto hold = co_await mutex.lock();
        try {
            co_await changed.wait(hold);
        } catch (const coro::cancelled &) {
            held = hold.owns_lock() && !mutex.try_lock();
        }
    };
    const auto stopper = [&]() -> lazy<> {
        stop.request_stop();
        co_return;
    };
    coro::spawn(loop, waiter(), stop.get_token());
    coro::spawn(loop, stopper());
    loop.run();
    CHECK(held && mutex.try_lock());
    mutex.unlock();
}

TEST("on several threads no notification is lost and all are woken by notify_all")
{
    coro::pool pool(2);
    coro::mutex mutex;
    coro::condition_variable changed;
    const std::size_t count = test::many(2'000, 200);
    std::size_t waiting = 0, gone = 0;
    coro::latch done(count + 1);
    const auto waiter = [&]() -> lazy<> {
        {
            auto hold = co_await mutex.lock();
            waiting++;
            co_await changed.wait(hold);
            gone++;
        }
        done.count_down();
    };
    const auto changer = [&]() -> lazy<> {
        for (;;) {
            {
                const auto hold = co_await mutex.lock();
                if (gone == count)
                    break;
            }
            changed.notify_all();
            co_await coro::yield();
        }
        done.count_down();
    };
    for (std::size_t i = 0; i < count; i++)
        coro::spawn(pool, waiter());
    coro::spawn(pool, changer());
    coro::sync_wait([](coro::latch &end) -> lazy<> { co_await end.wait(); }(done));
    CHECK(gone == count && waiting == count);
}
