// SPDX-License-Identifier: Apache-2.0
#include <coro/context.hpp>

#include "test.hpp"

#include <array>
#include <cfenv>
#include <cstring>
#include <optional>
#include <string>
#include <unwind.h>
#include <vector>

using coro::context;

TEST("a context runs only when it is resumed, and up to each suspension")
{
    std::string steps;
    context inner([&](context::self self) {
        steps += 'a';
        self.suspend();
        steps += 'b';
    });
    CHECK(steps.empty() && !inner.done());
    inner.resume();
    CHECK(steps == "a" && !inner.done());
    inner.resume();
    CHECK(steps == "ab" && inner.done());
}

// The compiler must keep all of these across a switch, in registers that the other side uses for its own.
template <std::size_t Seed> [[gnu::noinline]] static double churn(context::self &self, std::size_t rounds)
{
    std::array<std::size_t, 14> whole{};
    std::array<double, 14> real{};
    for (std::size_t i = 0; i < whole.size(); i++)
        whole[i] = Seed + i, real[i] = static_cast<double>(Seed) + 0.5 * static_cast<double>(i);
    for (std::size_t round = 0; round < rounds; round++) {
        for (std::size_t i = 0; i < whole.size(); i++)
            whole[i] = whole[i] * 3 + i, real[i] = real[i] * 0.5 + static_cast<double>(whole[i] % 7);
        self.suspend();
    }
    double sum = 0;
    for (std::size_t i = 0; i < whole.size(); i++)
        sum += static_cast<double>(whole[i] % 1000) + real[i];
    return sum;
}

TEST("registers survive the switch on both sides")
{
    const auto alone = [](auto work) {
        double sum = 0;
        context one([&](context::self self) { sum = work(self); });
        while (!one.done())
            one.resume();
        return sum;
    };
    const double expected_a = alone([](context::self &self) { return churn<1>(self, 1000); });
    const double expected_b = alone([](context::self &self) { return churn<99>(self, 1000); });
    double a = 0, b = 0;
    context first([&](context::self self) { a = churn<1>(self, 1000); });
    context second([&](context::self self) { b = churn<99>(self, 1000); });
    while (!first.done() || !second.done()) {
        if (!first.done())
            first.resume();
        if (!second.done())
            second.resume();
    }
    CHECK(a == expected_a && b == expected_b && a != b);
}

// An over-aligned local beside one of run-time size makes the compiler use a base pointer.
TEST("frames with over-aligned locals and run-time sized ones survive the switch")
{
    long sum = 0;
    context inner([&](context::self self) {
        for (std::size_t size = 1; size < 200; size += 7) {
            alignas(64) std::array<long, 8> aligned{};
            auto *sized = static_cast<unsigned char *>(__builtin_alloca(size));
            std::memset(sized, 1, size);
            aligned[size % 8] = static_cast<long>(size);
            self.suspend();
            sum += aligned[size % 8] + sized[size - 1];
        }
    });
    while (!inner.done()) {
        alignas(64) std::array<long, 8> outer{1, 2, 3, 4, 5, 6, 7, 8};
        inner.resume();
        CHECK(outer[7] == 8);
    }
    long expected = 0;
    for (long size = 1; size < 200; size += 7)
        expected += size + 1;
    CHECK(sum == expected);
}

TEST("an exception leaves a context through resume()")
{
    context inner([](context::self self) {
        self.suspend();
        throw std::runtime_error("inside");
    });
    inner.resume();
    CHECK(test::throws<std::runtime_error>([&] { inner.resume(); }));
    CHECK(inner.done());
}

TEST("contexts that suspend inside their catch blocks keep their own exceptions")
{
    std::vector<std::string> seen;
    const auto handle = [&seen](const char *name) {
        return [&seen, name](context::self self) {
            try {
                throw std::runtime_error(name);
            } catch (const std::exception &) {
                self.suspend();
                try {
                    throw; // the exception that this stack handles, whatever the others did meanwhile
                } catch (const std::exception &again) {
                    seen.emplace_back(again.what());
                }
            }
        };
    };
    context a(handle("a")), b(handle("b"));
    try {
        throw std::runtime_error("outer");
    } catch (const std::exception &) {
        a.resume();
        b.resume();
        a.resume();
        b.resume();
        CHECK(std::uncaught_exceptions() == 0);
        try {
            throw;
        } catch (const std::exception &outer) {
            CHECK(std::string(outer.what()) == "outer");
        }
    }
    CHECK(std::current_exception() == nullptr);
    CHECK((seen == std::vector<std::string>{"a", "b"}));
}

TEST("destroying a suspended context unwinds its frames")
{
    test::counted::alive = 0;
    {
        context inner([](context::self self) {
            const test::counted local;
            for (;;)
                self.suspend();
        });
        inner.resume();
        CHECK(test::counted::alive == 1);
    }
    CHECK(test::counted::alive == 0);
}

TEST("a context that never began destroys its function object")
{
    test::counted::alive = 0;
    {
        const test::counted captured;
        const context inner([captured](context::self) {});
        CHECK(test::counted::alive == 2);
    }
    CHECK(test::counted::alive == 0);
}

TEST("a moved context goes on where it was")
{
    int steps = 0;
    context inner([&](context::self self) {
        for (;;) {
            steps++;
            self.suspend();
        }
    });
    inner.resume();
    context moved(std::move(inner));
    moved.resume();
    CHECK(steps == 2);
}

TEST("contexts nest")
{
    std::string steps;
    context outer([&](context::self self) {
        context inner([&](context::self inside) {
            steps += '2';
            inside.suspend();
            steps += '4';
        });
        steps += '1';
        inner.resume();
        steps += '3';
        self.suspend();
        inner.resume();
        steps += '5';
    });
    outer.resume();
    CHECK(steps == "123");
    outer.resume();
    CHECK(steps == "12345" && outer.done());
}

TEST("float bits are the context's own when it asks for that, and the thread's otherwise")
{
    const auto rounding_after = [](coro::float_bits whose) {
        context inner(
            [](context::self self) {
                std::fesetround(FE_UPWARD);
                self.suspend();
                CHECK(std::fegetround() == FE_UPWARD);
            },
            coro::stack_options{.floats = whose});
        inner.resume();
        const int outside = std::fegetround();
        inner.resume();
        std::fesetround(FE_TONEAREST);
        return outside;
    };
    CHECK(rounding_after(coro::float_bits::own) == FE_TONEAREST);
    CHECK(rounding_after(coro::float_bits::of_thread) == FE_UPWARD);
}

TEST("stack use is reported")
{
    // A size that no other test uses, so that the stack is fresh.
    context inner([](context::self) { test::use_stack(std::size_t(100) << 10); }, {.size = std::size_t(4) << 20});
    inner.resume();
    CHECK(inner.stack_used() >= std::size_t(100) << 10);
    CHECK(inner.stack_used() < std::size_t(2) << 20);
    CHECK(inner.memory().size == std::size_t(4) << 20);
}

TEST("a backtrace from inside ends at the context's first frame")
{
    int frames = 0;
    context inner([&](context::self) {
        _Unwind_Backtrace(
            [](_Unwind_Context *, void *count) {
                return ++*static_cast<int *>(count) < 100 ? _URC_NO_REASON : _URC_NORMAL_STOP;
            },
            &frames);
    });
    inner.resume();
    CHECK(frames >= 2 && frames < 20);
}

TEST("a function object that does not fit on the stack is refused")
{
    const std::array<char, 6000> large{};
    CHECK(test::throws<std::invalid_argument>(
        [&] { const context inner([large](context::self) { (void)large; }, {.size = 4096}); }));
}
