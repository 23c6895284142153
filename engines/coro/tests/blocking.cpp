// SPDX-License-Identifier: Apache-2.0
#include <coro/blocking.hpp>

#include <coro/fiber.hpp>
#include <coro/loop.hpp>
#include <coro/when_all.hpp>

#include "test.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

using coro::lazy;

TEST("the call runs on another thread, its result and its exception come back on this one")
{
    coro::loop loop;
    const std::thread::id here = std::this_thread::get_id();
    const auto body = [&]() -> lazy<bool> {
        const auto there = co_await coro::blocking([] { return std::this_thread::get_id(); });
        co_return there != here && std::this_thread::get_id() == here;
    };
    CHECK(loop.run(body()));
    const auto failing = []() -> lazy<> { co_await coro::blocking([] { throw std::runtime_error("no"); }); };
    CHECK(test::throws<std::runtime_error>([&] { loop.run(failing()); }));
}

TEST("several calls block at the same time, no more than the limit")
{
    coro::blocking_threads threads(3);
    coro::loop loop;
    std::atomic<int> inside{0}, most{0}, runs{0};
    const auto call = [&] {
        int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);)
            ;
        while (runs.load() == 0 && most.load() < 3)
            std::this_thread::yield();
        runs++;
        inside--;
    };
    const auto body = [&]() -> lazy<> {
        std::vector<lazy<>> all;
        for (int i = 0; i < 20; i++)
            all.push_back(coro::blocking(call, threads));
        co_await coro::when_all(std::move(all));
    };
    loop.run(body());
    CHECK(runs.load() == 20 && most.load() == 3 && threads.size() == 3);
}

TEST("a fiber escapes as well")
{
    coro::loop loop;
    int got = 0;
    coro::fiber::spawn(loop, [&] { got = coro::fiber::await(coro::blocking([] { return 7; })); }).detach();
    while (got == 0)
        loop.run();
    CHECK(got == 7);
}
