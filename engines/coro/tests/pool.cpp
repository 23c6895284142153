// SPDX-License-Identifier: Apache-2.0
#include <coro/pool.hpp>

#include <coro/latch.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

#include <mutex>
#include <set>
#include <thread>

using coro::lazy;
using namespace std::chrono_literals;

TEST("work from outside and from inside is all done, more than any queue holds")
{
    coro::pool pool(2);
    const std::size_t count = test::many(50'000, 3'000);
    coro::latch done(2 * count);
    const auto child = [](coro::latch &end) -> lazy<> {
        co_await coro::yield();
        end.count_down();
    };
    coro::spawn(pool, [](coro::pool &on, auto make, coro::latch &end, std::size_t times) -> lazy<> {
        for (std::size_t i = 0; i < times; i++)
            coro::spawn(on, make(end));
        co_return;
    }(pool, child, done, count));
    for (std::size_t i = 0; i < count; i++)
        coro::spawn(pool, child(done));
    coro::sync_wait([](coro::latch &end) -> lazy<> { co_await end.wait(); }(done));
}

TEST("an idle worker steals from a busy one")
{
    coro::pool pool(2);
    std::mutex lock;
    std::set<std::thread::id> seen;
    coro::latch done(100);
    const auto child = [&]() -> lazy<> {
        {
            const std::lock_guard hold(lock);
            seen.insert(std::this_thread::get_id());
        }
        std::this_thread::sleep_for(1ms); // blocks the worker: the others' work must go elsewhere
        done.count_down();
        co_return;
    };
    coro::spawn(pool, [](coro::pool &on, auto &make) -> lazy<> {
        for (int i = 0; i < 100; i++)
            coro::spawn(on, make());
        co_return;
    }(pool, child));
    coro::sync_wait([](coro::latch &end) -> lazy<> { co_await end.wait(); }(done));
    CHECK(seen.size() == 2 && pool.statistics().stolen > 0);
}

TEST("a pool that sleeps is woken, every time")
{
    coro::pool pool(2);
    for (std::size_t round = 0; round < test::many(2'000, 200); round++) {
        if (round % 100 == 0)
            std::this_thread::sleep_for(1ms);
        CHECK(coro::sync_wait([]() -> lazy<int> { co_return 1; }(), &pool) == 1);
    }
}

TEST("one thread is enough, and none is left behind")
{
    for (int round = 0; round < 20; round++) {
        coro::pool pool(1);
        CHECK(pool.size() == 1);
        coro::sync_wait([]() -> lazy<> { co_await coro::sleep(100us); }(), &pool);
    }
}

// Waits until its workers have gone to sleep so often.
static void until_slept(const coro::pool &pool, std::size_t times)
{
    while (pool.statistics().slept < times)
        std::this_thread::sleep_for(1ms);
}

TEST("a pool without work sleeps and does not wake by itself; one item wakes one worker")
{
    coro::pool pool(4);
    until_slept(pool, 4);
    std::this_thread::sleep_for(50ms);
    CHECK(pool.statistics().slept == 4);
    for (std::size_t round = 1; round <= 20; round++) {
        coro::sync_wait([]() -> lazy<> { co_return; }(), &pool);
        until_slept(pool, 4 + round);
    }
    std::this_thread::sleep_for(20ms);
    CHECK(pool.statistics().slept == 24);
}

TEST("a worker that rests after a timer hears what is asked of its reactor")
{
    coro::pool pool(1);
    coro::reactor *at = nullptr;
    coro::sync_wait([](coro::reactor *&here) -> lazy<> {
        co_await coro::sleep(1ms);
        here = &coro::reactor::current();
    }(at), &pool);
    const std::size_t before = pool.statistics().slept;
    coro::sync_wait([]() -> lazy<> { co_return; }(), &pool);
    while (pool.statistics().slept == before)
        std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms); // it counts itself asleep just before it is
    struct asking : coro::detail::reactor_request {
        std::atomic<bool> heard{false};
    } asked;
    asked.run = [](coro::detail::reactor_request &self, coro::reactor &) { static_cast<asking &>(self).heard = true; };
    at->request(asked);
    for (int i = 0; i < 10'000 && !asked.heard; i++)
        std::this_thread::sleep_for(1ms);
    CHECK(asked.heard);
}
