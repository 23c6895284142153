// SPDX-License-Identifier: Apache-2.0
#include <coro/generator.hpp>

#include "test.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using coro::generator;

static generator<int> count_to(int last)
{
    for (int i = 1; i <= last; i++)
        co_yield i;
}

TEST("a generator is a range of what it yields")
{
    std::vector<int> seen;
    for (const int value : count_to(4))
        seen.push_back(value);
    CHECK((seen == std::vector{1, 2, 3, 4}));
    for (const int value : count_to(0))
        CHECK(value == 0 && false);
}

TEST("next() and value() read it without iterators")
{
    generator<int> three = count_to(3);
    int sum = 0;
    while (three.next())
        sum += three.value();
    CHECK(sum == 6);
}

TEST("what is more than a plain value is not copied, and a reference can be changed by the reader")
{
    const auto texts = []() -> generator<std::unique_ptr<int>> {
        auto one = std::make_unique<int>(5);
        co_yield one;
    };
    for (const std::unique_ptr<int> &each : texts())
        CHECK(*each == 5);
    int state = 0;
    const auto references = [&]() -> generator<int &> {
        while (state < 3)
            co_yield state;
    };
    for (int &each : references())
        each++;
    CHECK(state == 3);
}

TEST("an exception comes out of next() and ends the generator")
{
    const auto failing = []() -> generator<int> {
        co_yield 1;
        throw std::runtime_error("inside");
    };
    generator<int> one = failing();
    CHECK(one.next() && one.value() == 1);
    CHECK(test::throws<std::runtime_error>([&] { one.next(); }));
}

TEST("a generator that is not read to its end destroys its locals")
{
    test::counted::alive = 0;
    const auto endless = []() -> generator<int> {
        const test::counted local;
        for (int i = 0;; i++)
            co_yield i;
    };
    {
        generator<int> some = endless();
        some.next();
        CHECK(test::counted::alive == 1);
    }
    CHECK(test::counted::alive == 0);
}
