// SPDX-License-Identifier: Apache-2.0
#include <coro/local.hpp>

#include <coro/parallel.hpp>
#include <coro/spawn.hpp>
#include <coro/when_any.hpp>

#include "test.hpp"

#include <string>

using coro::lazy;

namespace
{

const coro::local<std::string> request;
const coro::local<int> number;

lazy<std::string> who()
{
    const std::string *name = co_await request.get();
    const int *value = co_await number.get();
    co_return (name == nullptr ? "nobody" : *name) + (value == nullptr ? "" : std::to_string(*value));
}

} // namespace

TEST("a value follows the chain over threads, executors and parts, and ends with it")
{
    coro::pool pool(2), other(1);
    const auto numbered = []() -> lazy<std::string> { co_return co_await number.with(7, who()); };
    const auto chain = [&]() -> lazy<std::string> {
        const auto [a, b] = co_await coro::parallel(who(), numbered());
        co_await coro::yield();
        const std::string far = co_await coro::on(other, who());
        const auto any = co_await coro::when_any(who(), numbered());
        co_return a + " " + b + " " + far + " " + std::get<0>(any);
    };
    CHECK(coro::sync_wait(who(), &pool) == "nobody");
    const auto body = [&]() -> lazy<std::string> {
        const std::string inside = co_await request.with("x", chain());
        co_return inside + " " + co_await who();
    };
    CHECK(coro::sync_wait(body(), &pool) == "x x7 x x nobody");
}
