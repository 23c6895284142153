// SPDX-License-Identifier: Apache-2.0
#include <coro/lazy.hpp>

#include <coro/spawn.hpp>

#include "test.hpp"

#include <memory>
#include <stdexcept>
#include <string>

using coro::lazy;
using coro::sync_wait;

static lazy<int> answer()
{
    co_return 42;
}

TEST("a lazy does not begin before it is awaited, and a lazy that nobody awaits is destroyed")
{
    bool began = false;
    const auto body = [&]() -> lazy<> {
        began = true;
        co_return;
    };
    {
        const lazy<> never = body();
    }
    CHECK(!began);
    sync_wait(body());
    CHECK(began);
}

TEST("values, references, movable-only values and nothing come back")
{
    int object = 1;
    const auto reference = [&]() -> lazy<int &> { co_return object; };
    const auto unique = []() -> lazy<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
    const auto text = []() -> lazy<std::string> { co_return "text"; };
    CHECK(sync_wait(answer()) == 42);
    CHECK(&sync_wait(reference()) == &object);
    CHECK(*sync_wait(unique()) == 7);
    CHECK(sync_wait(text()) == "text");
}

TEST("an exception passes through the chain and can be caught on the way")
{
    const auto thrower = []() -> lazy<int> {
        throw std::runtime_error("below");
        co_return 0;
    };
    const auto passer = [&]() -> lazy<int> { co_return co_await thrower() + 1; };
    const auto catcher = [&]() -> lazy<std::string> {
        try {
            co_await passer();
        } catch (const std::runtime_error &problem) {
            co_return problem.what();
        }
        co_return "nothing";
    };
    CHECK(sync_wait(catcher()) == "below");
    CHECK(test::throws<std::runtime_error>([&] { sync_wait(passer()); }));
}

TEST("locals, arguments and results are destroyed once")
{
    test::counted::alive = 0;
    const auto inner = [](test::counted argument) -> lazy<test::counted> {
        const test::counted local;
        co_return argument;
    };
    const auto outer = [&]() -> lazy<int> {
        const test::counted kept = co_await inner({});
        co_return test::counted::alive;
    };
    CHECK(sync_wait(outer()) == 1);
    CHECK(test::counted::alive == 0);
}

// With a sanitizer gcc 12 makes no tail call from one coroutine to the next, so there they do.
TEST("a million awaits that end at once do not grow the stack")
{
    const auto loop = [](std::size_t times) -> lazy<long> {
        long sum = 0;
        for (std::size_t i = 0; i < times; i++)
            sum += co_await answer();
        co_return sum;
    };
    const std::size_t times = test::many(1'000'000, 2'000);
    CHECK(sync_wait(loop(times)) == 42 * static_cast<long>(times));
}

static lazy<long> depth(long levels)
{
    if (levels == 0)
        co_return 0;
    co_return 1 + co_await depth(levels - 1);
}

TEST("a chain may be deeper than any stack")
{
    const long levels = static_cast<long>(test::many(1'000'000, 2'000));
    CHECK(sync_wait(depth(levels)) == levels);
}

// A policy of the user's: an array, as for frames whose number is known.
struct static_frames {
    alignas(16) static inline std::byte memory[4096];
    static inline std::size_t used = 0, alive = 0;

    static void *allocate(std::size_t size)
    {
        void *frame = memory + used;
        used += (size + 15) / 16 * 16;
        alive++;
        return frame;
    }
    static void release(void *, std::size_t) noexcept
    {
        alive--;
    }
};

// clang would elide the frame of a coroutine that it sees into.
[[gnu::noinline]] static lazy<int, static_frames> in_array(int value)
{
    co_return value;
}

TEST("frames come from where the policy says, and mix")
{
    const auto on_heap = [](int value) -> lazy<int, coro::heap_frames> { co_return value; };
    const auto both = [&]() -> lazy<int> {
        const int a = co_await in_array(1);
        const int b = co_await on_heap(2);
        co_return a + b;
    };
    CHECK(sync_wait(both()) == 3);
    CHECK(static_frames::used > 0 && static_frames::alive == 0);
}
