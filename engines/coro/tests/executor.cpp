// SPDX-License-Identifier: Apache-2.0
#include <coro/executor.hpp>

#include <coro/lazy.hpp>
#include <coro/loop.hpp>
#include <coro/spawn.hpp>

#include "test.hpp"

using coro::lazy;

static lazy<coro::executor *> executor_below(int levels)
{
    if (levels > 0)
        co_return co_await executor_below(levels - 1);
    co_return co_await coro::current_executor();
}

TEST("the executor is inherited along the chain, and there is none without a root that has one")
{
    coro::loop loop;
    CHECK(loop.run(executor_below(10)) == &loop);
    CHECK(coro::sync_wait(executor_below(10)) == nullptr);
}

TEST("the stop token is inherited along the chain")
{
    std::stop_source source;
    const auto inner = []() -> lazy<bool> { co_return (co_await coro::current_stop_token()).stop_requested(); };
    const auto outer = [&]() -> lazy<bool> {
        source.request_stop();
        co_return co_await inner();
    };
    CHECK(coro::sync_wait(outer(), nullptr, source.get_token()));
    const auto checks = []() -> lazy<> { co_await coro::throw_if_stopped(); };
    CHECK(test::throws<coro::cancelled>([&] { coro::sync_wait(checks(), nullptr, source.get_token()); }));
    coro::sync_wait(checks());
}

TEST("yield lets the others go first, in turn")
{
    coro::loop loop;
    std::string order;
    const auto step = [&](char name) -> lazy<> {
        for (int i = 0; i < 3; i++) {
            order += name;
            co_await coro::yield();
        }
    };
    coro::spawn(loop, step('a'));
    coro::spawn(loop, step('b'));
    loop.run();
    CHECK(order == "ababab");
}

TEST("resume_on goes on there, and the next wait comes back home")
{
    coro::loop first, second;
    std::string where;
    const auto name = [&] { where += coro::detail::this_thread().executor == &first ? '1' : '2'; };
    const auto body = [&]() -> lazy<> {
        name();
        co_await coro::resume_on(second);
        name();
        co_await coro::yield();
        name();
    };
    coro::spawn(first, body());
    first.run();
    second.run();
    first.run();
    CHECK(where == "121");
}
