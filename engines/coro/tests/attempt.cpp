// SPDX-License-Identifier: Apache-2.0
#include <coro/attempt.hpp>

#include <coro/loop.hpp>
#include <coro/when_all.hpp>

#include "test.hpp"

#include <memory>
#include <stdexcept>
#include <string>

using coro::lazy;

static lazy<std::unique_ptr<int>> made(int value)
{
    if (value < 0)
        throw std::invalid_argument("negative");
    co_return std::make_unique<int>(value);
}

TEST("each part of a when_all keeps its value or its exception")
{
    coro::loop loop;
    const auto body = []() -> lazy<std::string> {
        std::vector<lazy<coro::result<std::unique_ptr<int>>>> parts;
        for (const int value : {1, -1, 3})
            parts.push_back(coro::attempt(made(value)));
        std::string said;
        for (auto &each : co_await coro::when_all(std::move(parts)))
            said += each.has_value() ? std::to_string(*each.take()) : "x";
        co_return said;
    };
    CHECK(loop.run(body()) == "1x3");
}

TEST("a result throws what it holds, and nothing is a value as well")
{
    coro::loop loop;
    const auto nothing = []() -> lazy<> { co_return; };
    auto good = loop.run(coro::attempt(nothing()));
    CHECK(good.has_value() && good.failure() == nullptr);
    good.take();
    auto bad = loop.run(coro::attempt(made(-1)));
    CHECK(!bad.has_value() && bad.failure() != nullptr);
    CHECK(test::throws<std::invalid_argument>([&] { static_cast<void>(bad.take()); }));
}
