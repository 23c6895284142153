// SPDX-License-Identifier: Apache-2.0
#include <coro/mutex.hpp>

#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>
#include <coro/when_all.hpp>

#include "test.hpp"

#include <string>
#include <thread>
#include <vector>

using coro::lazy;
using namespace std::chrono_literals;

TEST("two threads' coroutines never hold it together")
{
    coro::pool pool(2);
    coro::mutex mutex;
    const std::size_t each = test::many(20'000, 2'000);
    std::size_t count = 0; // no atomic: the mutex alone protects it
    const auto body = [&]() -> lazy<> {
        for (std::size_t i = 0; i < each; i++) {
            const auto hold = co_await mutex.lock();
            const std::size_t before = count;
            if (i % 64 == 0)
                co_await coro::yield();
            count = before + 1;
        }
    };
    coro::sync_wait(
        [](auto &make, coro::pool &there) -> lazy<> {
            std::vector<lazy<>> all;
            for (int i = 0; i < 4; i++)
                all.push_back(
                    [](auto &inner, coro::pool &where) -> lazy<> { co_await coro::on(where, inner()); }(make, there));
            co_await coro::when_all(std::move(all));
        }(body, pool),
        &pool);
    CHECK(count == 4 * each);
}

TEST("those who wait get it in the order in which they came")
{
    coro::loop loop;
    coro::mutex mutex;
    std::string order;
    const auto one = [&](char name) -> lazy<> {
        const auto hold = co_await mutex.lock();
        order += name;
        co_await coro::yield();
    };
    for (const char name : {'a', 'b', 'c', 'd'})
        coro::spawn(loop, one(name));
    loop.run();
    CHECK(order == "abcd");
    CHECK(mutex.try_lock() && !mutex.try_lock());
    mutex.unlock();
}

TEST("stop takes a waiter out of the line, and the next one gets the mutex")
{
    coro::loop loop;
    coro::mutex mutex;
    std::stop_source source;
    std::string order;
    const auto waits = [&](char name) -> lazy<> {
        try {
            const auto hold = co_await mutex.lock();
            order += name;
        } catch (const coro::cancelled &) {
            order += 'x';
        }
    };
    CHECK(mutex.try_lock());
    coro::spawn(loop, waits('a'), source.get_token());
    coro::spawn(loop, waits('b'));
    coro::spawn(loop, [](coro::mutex &held, std::stop_source &of) -> lazy<> {
        of.request_stop();
        co_await coro::yield();
        held.unlock();
    }(mutex, source));
    loop.run();
    CHECK(order == "xb");
    CHECK(mutex.try_lock());
}

TEST("stop from another thread and unlock may come together: nobody is lost and the mutex stays whole")
{
    coro::pool pool(2);
    coro::mutex mutex;
    int got = 0, stopped = 0;
    for (std::size_t round = 0; round < test::many(300, 100); round++) {
        std::stop_source source;
        CHECK(mutex.try_lock());
        std::thread stopper([&] { source.request_stop(); });
        std::thread unlocker([&] { mutex.unlock(); });
        try {
            coro::sync_wait([](coro::mutex &of) -> lazy<> { const auto hold = co_await of.lock(); }(mutex), &pool,
                            source.get_token());
            got++;
        } catch (const coro::cancelled &) {
            stopped++;
        }
        stopper.join();
        unlocker.join();
    }
    CHECK(got + stopped == static_cast<int>(test::many(300, 100)));
    CHECK(mutex.try_lock());
}
