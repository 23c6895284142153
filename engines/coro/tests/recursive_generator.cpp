// SPDX-License-Identifier: Apache-2.0
#include <coro/recursive_generator.hpp>

#include "test.hpp"

#include <stdexcept>
#include <vector>

using coro::recursive_generator;

static recursive_generator<int> in_order(int low, int high)
{
    if (low > high)
        co_return;
    const int middle = (low + high) / 2;
    co_yield in_order(low, middle - 1);
    co_yield middle;
    co_yield in_order(middle + 1, high);
}

TEST("a tree is read in order")
{
    int expected = 0;
    for (const int value : in_order(0, 999))
        CHECK(value == expected++);
    CHECK(expected == 1000);
}

static recursive_generator<long> below(long depth, long count)
{
    if (depth > 0)
        co_yield below(depth - 1, count);
    else
        for (long i = 0; i < count; i++)
            co_yield i;
}

TEST("the values of the innermost of ten thousand arrive in order")
{
    long expected = 0;
    for (const long value : below(static_cast<long>(test::many(10'000, 500)), 100))
        CHECK(value == expected++);
    CHECK(expected == 100);
}

static recursive_generator<int> throwing(int after)
{
    const test::counted local;
    for (int i = 0; i < after; i++)
        co_yield i;
    throw std::runtime_error("inside");
}

TEST("an exception reaches the generator above, which may go on")
{
    const auto catching = []() -> recursive_generator<int> {
        bool caught = false;
        try {
            co_yield throwing(2);
        } catch (const std::runtime_error &) {
            caught = true;
        }
        if (caught)
            co_yield 100;
    };
    std::vector<int> seen;
    for (const int value : catching())
        seen.push_back(value);
    CHECK((seen == std::vector{0, 1, 100}));
}

TEST("an exception that nobody catches comes out of next()")
{
    test::counted::alive = 0;
    const auto passing = []() -> recursive_generator<int> { co_yield throwing(1); };
    {
        recursive_generator<int> one = passing();
        CHECK(one.next());
        CHECK(test::throws<std::runtime_error>([&] { one.next(); }));
    }
    CHECK(test::counted::alive == 0);
}

TEST("all levels are destroyed when the reader stops early")
{
    test::counted::alive = 0;
    const auto outer = []() -> recursive_generator<int> {
        const test::counted local;
        co_yield throwing(5);
    };
    {
        recursive_generator<int> one = outer();
        one.next();
        CHECK(test::counted::alive == 2);
    }
    CHECK(test::counted::alive == 0);
}
