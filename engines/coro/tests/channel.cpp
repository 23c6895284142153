// SPDX-License-Identifier: Apache-2.0
#include <coro/channel.hpp>

#include <coro/fiber.hpp>
#include <coro/loop.hpp>
#include <coro/pool.hpp>
#include <coro/spawn.hpp>
#include <coro/when_all.hpp>

#include "test.hpp"

#include <memory>
#include <vector>

using coro::channel;
using coro::lazy;

static lazy<> push_all(channel<int> &into, int from, int to)
{
    for (int i = from; i < to; i++)
        CHECK(co_await into.push(i));
}

TEST("what is pushed comes out in order, whatever the capacity")
{
    for (const std::size_t capacity : {0u, 1u, 3u, 1000u}) {
        coro::loop loop;
        channel<int> numbers(capacity);
        int expected = 0;
        const auto reader = [&]() -> lazy<> {
            while (const auto value = co_await numbers.pop())
                CHECK(*value == expected++);
        };
        const auto writer = [&]() -> lazy<> {
            co_await push_all(numbers, 0, 100);
            numbers.close();
        };
        loop.run(
            [](auto a, auto b) -> lazy<> { co_await coro::when_all(std::move(a), std::move(b)); }(reader(), writer()));
        CHECK(expected == 100);
    }
}

TEST("with capacity zero a push ends only when somebody pops")
{
    coro::loop loop;
    channel<int> meeting(0);
    bool pushed = false;
    coro::spawn(loop, [](channel<int> &into, bool &done) -> lazy<> {
        co_await into.push(1);
        done = true;
    }(meeting, pushed));
    loop.run();
    CHECK(!pushed);
    const auto got =
        loop.run([](channel<int> &from) -> lazy<std::optional<int>> { co_return co_await from.pop(); }(meeting));
    loop.run();
    CHECK(pushed && got == 1);
}

TEST("close refuses pushes, lets the rest be read and wakes everybody")
{
    coro::loop loop;
    channel<std::unique_ptr<int>> of_pointers(1);
    std::string order;
    const auto push = [&](char yes, char no) -> lazy<> {
        order += co_await of_pointers.push(std::make_unique<int>(1)) ? yes : no;
    };
    coro::spawn(loop, push('a', '-'));
    coro::spawn(loop, push('b', 'x')); // waits, and is refused by close()
    loop.run();
    of_pointers.close();
    coro::spawn(loop, push('c', 'y'));
    loop.run();
    CHECK(order == "axy");
    const auto pop = [&]() -> lazy<bool> { co_return (co_await of_pointers.pop()).has_value(); };
    CHECK(loop.run(pop()));
    CHECK(!loop.run(pop()));
}

TEST("several writers and readers on two threads lose and double nothing; fibers among them")
{
    for (const std::size_t capacity : {0u, 2u}) {
        coro::pool pool(2);
        channel<int> numbers(capacity);
        const int each = static_cast<int>(test::many(5'000, 500));
        std::atomic<long> sum{0};
        std::vector<lazy<>> writers, readers;
        for (int i = 0; i < 2; i++) {
            writers.push_back([](coro::pool &there, channel<int> &into, int from, int to) -> lazy<> {
                co_await coro::on(there, push_all(into, from, to));
            }(pool, numbers, i * each, (i + 1) * each));
            readers.push_back([](channel<int> &from, std::atomic<long> &total) -> lazy<> {
                while (const auto value = co_await from.pop())
                    total += *value;
            }(numbers, sum));
        }
        coro::fiber fiber = coro::fiber::spawn(pool, [&] {
            while (const auto value = coro::fiber::await(numbers.pop()))
                sum += *value;
        });
        const auto write = [&]() -> lazy<> {
            co_await coro::when_all(std::move(writers));
            numbers.close();
        };
        const auto all = [&]() -> lazy<> {
            co_await coro::when_all(write(), coro::lazy<>([](auto lazies) -> lazy<> {
                                        co_await coro::when_all(std::move(lazies));
                                    }(std::move(readers))));
        };
        coro::sync_wait(all(), &pool);
        fiber.join();
        const long count = 2L * each;
        CHECK(sum == count * (count - 1) / 2);
    }
}

TEST("stop ends a push and a pop, and the value of the push is not in the channel")
{
    coro::loop loop;
    channel<int> full(0);
    std::stop_source source;
    const auto stops = [&](lazy<> what) {
        coro::spawn(loop, [](std::stop_source &of) -> lazy<> {
            of.request_stop();
            co_return;
        }(source));
        return test::throws<coro::cancelled>([&] { loop.run(std::move(what), source.get_token()); });
    };
    CHECK(stops(push_all(full, 0, 1)));
    source = std::stop_source();
    CHECK(stops([](channel<int> &from) -> lazy<> { co_await from.pop(); }(full)));
}
