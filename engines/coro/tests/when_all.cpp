// SPDX-License-Identifier: Apache-2.0
#include <coro/when_all.hpp>

#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/sleep.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

#include <stdexcept>
#include <string>

using coro::lazy;
using namespace std::chrono_literals;

static lazy<int> later(std::chrono::milliseconds after, int value)
{
    co_await coro::sleep(after);
    co_return value;
}

TEST("all values come back in the order of the lazies, not of their ends")
{
    coro::loop loop;
    const auto body = []() -> lazy<std::string> {
        const auto nothing = []() -> lazy<> { co_return; };
        const auto [a, b, c] = co_await coro::when_all(later(4ms, 1), nothing(), later(2ms, 3));
        static_cast<void>(b);
        co_return std::to_string(a) + std::to_string(c);
    };
    CHECK(loop.run(body()) == "13");
}

TEST("all are begun before the first has ended, and none at all is all of them")
{
    coro::loop loop;
    int begun = 0, most = 0;
    const auto one = [&]() -> lazy<> {
        most = std::max(most, ++begun);
        co_await coro::yield();
        begun--;
    };
    const auto body = [&]() -> lazy<> {
        std::vector<lazy<>> all;
        co_await coro::when_all(std::move(all));
        all.clear();
        for (int i = 0; i < 10; i++)
            all.push_back(one());
        co_await coro::when_all(std::move(all));
    };
    loop.run(body());
    CHECK(most == 10 && begun == 0);
}

TEST("an exception waits until the others have ended")
{
    coro::loop loop;
    bool other_ended = false;
    const auto failing = []() -> lazy<> {
        throw std::runtime_error("one");
        co_return;
    };
    const auto slow = [&]() -> lazy<> {
        co_await coro::sleep(2ms);
        other_ended = true;
    };
    const auto body = [&]() -> lazy<> { co_await coro::when_all(failing(), slow()); };
    CHECK(test::throws<std::runtime_error>([&] { loop.run(body()); }));
    CHECK(other_ended);
}

TEST("parts may end on several threads")
{
    coro::pool pool(2);
    const auto part = [&](int value) -> lazy<int> {
        co_return co_await coro::on(pool, [](int of) -> lazy<int> { co_return of; }(value));
    };
    const auto body = [&]() -> lazy<int> {
        std::vector<lazy<int>> all;
        for (int i = 0; i < 100; i++)
            all.push_back(part(i));
        int sum = 0;
        for (const int each : co_await coro::when_all(std::move(all)))
            sum += each;
        co_return sum;
    };
    for (std::size_t round = 0; round < test::many(100, 20); round++)
        CHECK(coro::sync_wait(body(), &pool) == 4950);
}

TEST("no more than so many have begun and not ended, and each comes to its turn")
{
    for (const std::size_t at_most : {1u, 3u, 100u}) {
        coro::loop loop;
        std::size_t running = 0, most = 0;
        const auto part = [&](int value) -> lazy<int> {
            most = std::max(most, ++running);
            if (value % 4 != 0) // others end at once
                co_await coro::sleep(std::chrono::microseconds(value % 3));
            running--;
            co_return value;
        };
        const auto body = [&]() -> lazy<int> {
            std::vector<lazy<int>> all;
            for (int i = 0; i < 50; i++)
                all.push_back(part(i));
            int sum = 0, place = 0;
            for (const int each : co_await coro::when_all(std::move(all), at_most))
                sum += each == place++ ? each : 10'000;
            co_return sum;
        };
        CHECK(loop.run(body()) == 1225);
        CHECK(most <= at_most && (at_most != 3 || most == 3) && running == 0);
    }
}
