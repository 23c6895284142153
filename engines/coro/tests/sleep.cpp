// SPDX-License-Identifier: Apache-2.0
#include <coro/sleep.hpp>

#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/spawn.hpp>
#include <coro/when_all.hpp>

#include "test.hpp"

#include <thread>
#include <vector>

using coro::lazy;
using namespace std::chrono_literals;

TEST("a sleep is never shorter than asked for, and those of one loop end by deadline")
{
    coro::loop loop;
    std::vector<int> order;
    const auto one = [&](int ms) -> lazy<bool> {
        const auto before = coro::reactor::clock::now();
        co_await coro::sleep(std::chrono::milliseconds(ms));
        order.push_back(ms);
        co_return coro::reactor::clock::now() - before >= std::chrono::milliseconds(ms);
    };
    std::vector<lazy<bool>> all;
    for (const int ms : {9, 1, 7, 3, 5})
        all.push_back(one(ms));
    for (const bool long_enough : loop.run([](auto lazies) -> lazy<std::vector<bool>> {
             std::vector<bool> kept;
             for (const bool each : co_await coro::when_all(std::move(lazies)))
                 kept.push_back(each);
             co_return kept;
         }(std::move(all))))
        CHECK(long_enough);
    CHECK((order == std::vector{1, 3, 5, 7, 9}));
}

static lazy<> for_ever()
{
    co_await coro::sleep(1h);
}

TEST("stop ends a sleep, before it begins, on the same thread and from another one")
{
    coro::loop loop;
    std::stop_source before, same, other;
    before.request_stop();
    CHECK(test::throws<coro::cancelled>([&] { loop.run(for_ever(), before.get_token()); }));

    coro::spawn(loop, [](std::stop_source &source) -> lazy<> {
        co_await coro::sleep(2ms);
        source.request_stop();
    }(same));
    CHECK(test::throws<coro::cancelled>([&] { loop.run(for_ever(), same.get_token()); }));

    std::thread stopper([&] {
        std::this_thread::sleep_for(2ms);
        other.request_stop();
    });
    CHECK(test::throws<coro::cancelled>([&] { loop.run(for_ever(), other.get_token()); }));
    stopper.join();
}

TEST("stop and the deadline may come together, from any thread, and exactly one of them wins")
{
    coro::pool pool(2);
    int ended = 0, stopped = 0;
    for (std::size_t round = 0; round < test::many(500, 200); round++) {
        std::stop_source source;
        std::thread stopper([&] {
            std::this_thread::sleep_for(100us);
            source.request_stop();
        });
        try {
            coro::sync_wait([]() -> lazy<> { co_await coro::sleep(150us); }(), &pool, source.get_token());
            ended++;
        } catch (const coro::cancelled &) {
            stopped++;
        }
        stopper.join();
    }
    CHECK(ended + stopped == static_cast<int>(test::many(500, 200)));
}
