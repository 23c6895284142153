// SPDX-License-Identifier: Apache-2.0
#include <coro/barrier.hpp>

#include <coro/latch.hpp>
#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

#include <atomic>
#include <stop_token>

using coro::lazy;

TEST("nobody begins a round before all have ended the one before, on any threads")
{
    coro::pool pool(2);
    constexpr int parties = 5;
    const int rounds = static_cast<int>(test::many(500, 50));
    coro::barrier barrier(parties);
    coro::latch done(parties);
    std::atomic<int> arrivals{0};
    std::atomic<bool> early{false};
    const auto party = [&]() -> lazy<> {
        for (int round = 0; round < rounds; round++) {
            arrivals++;
            co_await barrier.arrive_and_wait();
            if (arrivals.load() < (round + 1) * parties)
                early = true;
            co_await barrier.arrive_and_wait();
        }
        done.count_down();
    };
    for (int i = 0; i < parties; i++)
        coro::spawn(pool, party());
    coro::sync_wait([](coro::latch &end) -> lazy<> { co_await end.wait(); }(done));
    CHECK(!early && arrivals.load() == rounds * parties);
}

TEST("one that is stopped has arrived all the same")
{
    coro::loop loop;
    coro::barrier barrier(2);
    std::stop_source stop;
    int cancelled = 0, through = 0;
    const auto first = [&]() -> lazy<> {
        try {
            co_await barrier.arrive_and_wait();
        } catch (const coro::cancelled &) {
            cancelled++;
        }
    };
    const auto second = [&]() -> lazy<> {
        stop.request_stop();
        co_await coro::yield();
        co_await barrier.arrive_and_wait();
        through++;
    };
    coro::spawn(loop, first(), stop.get_token());
    coro::spawn(loop, second());
    loop.run();
    CHECK(cancelled == 1 && through == 1);
}
