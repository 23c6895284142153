// SPDX-License-Identifier: Apache-2.0
#include <coro/fiber.hpp>

#include <coro/latch.hpp>
#include <coro/loop.hpp>
#include <coro/mutex.hpp>
#include <coro/pool.hpp>
#include <coro/sleep.hpp>

#include "test.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using coro::basic_fiber;
using coro::fiber;
using coro::lazy;
using namespace std::chrono_literals;

TEST("fibers run when their executor does, and yield to each other in turn")
{
    coro::loop loop;
    std::string order;
    const auto step = [&order](char name) {
        return [&order, name] {
            for (int i = 0; i < 3; i++) {
                order += name;
                fiber::yield();
            }
        };
    };
    fiber::spawn(loop, step('a')).detach();
    fiber::spawn(loop, step('b')).detach();
    CHECK(order.empty());
    loop.run();
    CHECK(order == "ababab");
}

TEST("async gives a value or an exception to whoever joins: a fiber, a lazy or a thread")
{
    coro::loop loop;
    auto joins = fiber::async(loop, [&loop] {
        auto value = fiber::async(loop, [] { return std::make_unique<int>(20); });
        auto failing = fiber::async(loop, []() -> int { throw std::runtime_error("inside"); });
        bool failed = false;
        try {
            failing.join();
        } catch (const std::runtime_error &) {
            failed = true;
        }
        return *value.join() + (failed ? 1 : 0);
    });
    const auto awaits = [](basic_fiber<int> of) -> lazy<int> { co_return co_await std::move(of); };
    CHECK(loop.run(awaits(std::move(joins))) == 21);

    coro::pool pool(1);
    CHECK(fiber::async(pool, [] { return 7; }).join() == 7);
}

TEST("a fiber may wait anywhere in its call chain")
{
    coro::loop loop;
    struct chain {
        static int depth(int levels)
        {
            volatile int here = levels; // a frame of its own
            if (levels == 0) {
                fiber::await(coro::sleep(1ms));
                return 0;
            }
            return depth(levels - 1) + (here - levels) + 1;
        }
    };
    int result = 0;
    fiber::spawn(loop, [&] { result = chain::depth(500); }, {.stack = {.size = std::size_t(1) << 20}}).detach();
    loop.run();
    CHECK(result == 500);
}

TEST("what is awaited and ends at once does not nest, a million times")
{
    coro::loop loop;
    const std::size_t times = test::many(1'000'000, 20'000);
    std::size_t sum = 0;
    const auto one = []() -> lazy<std::size_t> { co_return 1; };
    fiber::spawn(loop, [&] {
        for (std::size_t i = 0; i < times; i++)
            sum += fiber::await(one());
    }).detach();
    loop.run();
    CHECK(sum == times);
}

TEST("fibers on two threads take turns with a mutex, and may move between the threads")
{
    coro::pool pool(2);
    coro::mutex mutex;
    coro::latch done(8);
    const std::size_t each = test::many(5'000, 300);
    std::size_t count = 0;
    for (int i = 0; i < 8; i++)
        fiber::spawn(pool, [&] {
            for (std::size_t k = 0; k < each; k++) {
                const auto hold = fiber::await(mutex.lock());
                const std::size_t before = count;
                if (k % 16 == 0)
                    fiber::yield();
                count = before + 1;
            }
            done.count_down();
        }).detach();
    coro::sync_wait([](coro::latch &all) -> lazy<> { co_await all.wait(); }(done));
    CHECK(count == 8 * each);
}

TEST("a fiber that waits inside a catch block keeps its exception, on whichever thread it goes on")
{
    coro::pool pool(2);
    std::vector<basic_fiber<bool>> all;
    for (int i = 0; i < 20; i++)
        all.push_back(fiber::async(pool, [i] {
            const std::string mine = std::to_string(i);
            try {
                throw std::runtime_error(mine);
            } catch (const std::exception &) {
                for (int k = 0; k < 10; k++)
                    fiber::yield();
                try {
                    throw;
                } catch (const std::exception &again) {
                    return again.what() == mine;
                }
            }
        }));
    for (auto &each : all)
        CHECK(each.join());
}

TEST("stop reaches what a fiber waits for")
{
    coro::loop loop;
    std::stop_source source;
    auto sleeper = fiber::async(loop,
                                [] {
                                    try {
                                        fiber::await(coro::sleep(1h));
                                    } catch (const coro::cancelled &) {
                                        return fiber::stop_token().stop_requested();
                                    }
                                    return false;
                                },
                                {.stop = source.get_token()});
    fiber::spawn(loop, [&] { source.request_stop(); }).detach();
    CHECK(loop.run([](basic_fiber<bool> of) -> lazy<bool> { co_return co_await std::move(of); }(std::move(sleeper))));
}

TEST("a loop may be run inside a fiber")
{
    coro::loop outer;
    int value = 0;
    fiber::spawn(outer, [&] {
        coro::loop inner;
        auto below = fiber::async(inner, [] {
            fiber::await(coro::sleep(1ms));
            return 4;
        });
        value = inner.run([](basic_fiber<int> of) -> lazy<int> { co_return co_await std::move(of); }(std::move(below)));
        fiber::yield();
        value++;
    }).detach();
    outer.run();
    CHECK(value == 5);
}

TEST("only a fiber can yield")
{
    CHECK(!fiber::inside());
    CHECK(test::throws<std::logic_error>([] { fiber::yield(); }));
}

TEST("what the function captured is destroyed with the fiber, detached or joined")
{
    coro::loop loop;
    test::counted::alive = 0;
    {
        const test::counted captured;
        fiber::spawn(loop, [captured] { fiber::yield(); }).detach();
        fiber joined = fiber::spawn(loop, [captured] {});
        loop.run([](fiber of) -> lazy<> { co_await std::move(of); }(std::move(joined)));
        loop.run();
    }
    CHECK(test::counted::alive == 0);
}

TEST("stack sizes are the fiber's own, and its use is reported")
{
    coro::loop loop;
    std::size_t used = 0;
    fiber::spawn(loop,
                 [&] {
                     test::use_stack(std::size_t(300) << 10);
                     used = fiber::own_stack_used();
                 },
                 {.stack = {.size = std::size_t(8) << 20}})
        .detach();
    loop.run();
    CHECK(used >= std::size_t(300) << 10 && used < std::size_t(1) << 20);
}
