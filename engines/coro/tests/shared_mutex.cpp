// SPDX-License-Identifier: Apache-2.0
#include <coro/shared_mutex.hpp>

#include <coro/latch.hpp>
#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

#include <atomic>
#include <stop_token>
#include <string>

using coro::lazy;

TEST("readers go together, a writer alone, and all in the order of their arrival")
{
    coro::loop loop;
    coro::shared_mutex mutex;
    std::string order;
    const auto read = [&](char name) -> lazy<> {
        const auto hold = co_await mutex.lock_shared();
        order += name;
        co_await coro::yield();
        order += name;
    };
    const auto write = [&](char name) -> lazy<> {
        const auto hold = co_await mutex.lock();
        order += name;
        co_await coro::yield();
        order += name;
    };
    coro::spawn(loop, read('a'));
    coro::spawn(loop, read('b'));
    coro::spawn(loop, write('W'));
    coro::spawn(loop, read('c'));
    coro::spawn(loop, read('d'));
    loop.run();
    CHECK(order == "ababWWcdcd");
}

TEST("a writer that is stopped leaves the line")
{
    coro::loop loop;
    coro::shared_mutex mutex;
    std::stop_source stop;
    int read = 0, cancelled = 0;
    const auto reader = [&]() -> lazy<> {
        const auto hold = co_await mutex.lock_shared();
        co_await coro::yield();
        read++;
    };
    const auto writer = [&]() -> lazy<> {
        try {
            const auto hold = co_await mutex.lock();
        } catch (const coro::cancelled &) {
            cancelled++;
        }
    };
    coro::spawn(loop, reader());
    coro::spawn(loop, writer(), stop.get_token());
    coro::spawn(loop, [](std::stop_source &of) -> lazy<> {
        of.request_stop();
        co_return;
    }(stop));
    coro::spawn(loop, reader());
    loop.run();
    CHECK(read == 2 && cancelled == 1);
}

TEST("on several threads a writer is alone")
{
    coro::pool pool(2);
    coro::shared_mutex mutex;
    std::atomic<int> readers{0}, writers{0};
    std::atomic<bool> met{false};
    const std::size_t count = 20, rounds = test::many(200, 20);
    coro::latch done(count);
    const auto party = [&](std::size_t number) -> lazy<> {
        for (std::size_t i = 0; i < rounds; i++) {
            if ((number + i) % 4 == 0) {
                const auto hold = co_await mutex.lock();
                if (writers++ != 0 || readers.load() != 0)
                    met = true;
                co_await coro::yield();
                writers--;
            } else {
                const auto hold = co_await mutex.lock_shared();
                readers++;
                if (writers.load() != 0)
                    met = true;
                co_await coro::yield();
                readers--;
            }
        }
        done.count_down();
    };
    for (std::size_t i = 0; i < count; i++)
        coro::spawn(pool, party(i));
    coro::sync_wait([](coro::latch &end) -> lazy<> { co_await end.wait(); }(done));
    CHECK(!met);
}
