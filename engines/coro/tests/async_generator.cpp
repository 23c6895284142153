// SPDX-License-Identifier: Apache-2.0
#include <coro/async_generator.hpp>

#include <coro/loop.hpp>
#include <coro/sleep.hpp>

#include "test.hpp"

#include <stdexcept>
#include <stop_token>

using coro::lazy;
using namespace std::chrono_literals;

static coro::async_generator<int> count(int to, const test::counted &)
{
    const test::counted inside;
    for (int i = 1; i <= to; i++) {
        co_await coro::sleep(10us);
        co_yield i;
    }
    if (to == 3)
        throw std::runtime_error("three");
}

TEST("it waits between its values and ends")
{
    coro::loop loop;
    const auto body = []() -> lazy<int> {
        int sum = 0;
        auto numbers = count(10, test::counted());
        while (const int *value = co_await numbers.next())
            sum += *value;
        co_return co_await numbers.next() == nullptr ? sum : 0;
    };
    CHECK(loop.run(body()) == 55);
}

TEST("an exception reaches the reader after the values before it, and is the end")
{
    coro::loop loop;
    int seen = 0;
    const auto body = [&]() -> lazy<> {
        auto numbers = count(3, test::counted());
        try {
            while (co_await numbers.next() != nullptr)
                seen++;
        } catch (const std::runtime_error &) {
            seen += 10;
        }
        seen += co_await numbers.next() == nullptr ? 100 : 0;
    };
    loop.run(body());
    CHECK(seen == 113);
}

TEST("one that is left before its end is destroyed, and a stop reaches what it waits for")
{
    coro::loop loop;
    std::stop_source stop;
    const auto body = [&]() -> lazy<> {
        auto numbers = count(10, test::counted());
        CHECK(*co_await numbers.next() == 1);
        CHECK(test::counted::alive == 1);
        stop.request_stop();
        co_await numbers.next();
    };
    CHECK(test::throws<coro::cancelled>([&] { loop.run(body(), stop.get_token()); }));
    CHECK(test::counted::alive == 0);
}
