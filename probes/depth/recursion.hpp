/* SPDX-License-Identifier: Apache-2.0
 * recursion.hpp - 1 + 2 + … + n by recursion, a level a number: real calls, whose result is used.
 *
 * One operation is one recursion, n levels down and back up. */
#ifndef STEELYARD_DEPTH_RECURSION_HPP
#define STEELYARD_DEPTH_RECURSION_HPP

#include "full_switch.hpp"

#include <coro/context.hpp>
#include <coro/lazy.hpp>

#include <new>
#include <sys/mman.h>

#define RECURSION_LEVELS_MAX 2048
#define RECURSION_STACK_BYTES (std::size_t(512) * 1024) /* of the study that this comes from; with 64 KiB the deepest would not fit */

inline constexpr probe_metric recursion_metrics[] = {
    {"recursion", "s", "lower", "wall", "operations", "time of one recursion through all levels"},
    {"level", "s", "lower", "wall", "levels", "the same a level"},
    {}};

inline constexpr probe_param recursion_depth = {
    .name = "depth",
    .doc = "levels of the recursion",
    .unit = "1",
    .sweep = "1,2,4,8,16,32,64,128,256,512,1024,2048",
    .brief = "1,32,1024",
    .min = 1,
    .max = RECURSION_LEVELS_MAX};

inline constexpr probe_param recursion_frames = {
    .name = "frames",
    .doc = "where coroutine frames live: in a pool of the thread, in an array as on a stack, on the heap",
    .choices = "pooled,static,malloc",
    .sweep = "pooled,static,malloc",
    .brief = "pooled,malloc"};

/* Not a loop, which an optimiser makes of a sum: something is done after the call returns. */
extern "C" [[gnu::noinline]] inline std::uint64_t sum_by_calls(std::uint64_t n)
{
    if (n <= 1)
        return n;
    std::uint64_t below = sum_by_calls(n - 1);
    asm volatile("" : "+r"(below));
    return n + below;
}

/* One after the other in an array: what is allocated last is released first. */
struct static_frames {
    static constexpr std::size_t bytes = std::size_t(1) << 20;
    alignas(64) static inline std::byte memory[bytes];
    static inline std::size_t used;

    static constexpr std::size_t rounded(std::size_t size)
    {
        return (size + 15) / 16 * 16;
    }
    static void *allocate(std::size_t size)
    {
        if (bytes - used < rounded(size))
            probe_fail("%zu bytes are too few for the frames", bytes);
        void *frame = memory + used;
        used += rounded(size);
        return frame;
    }
    static void release(void *, std::size_t size) noexcept
    {
        used -= rounded(size);
    }
};

enum class throws { maybe, never };

template <class Frames, throws Promise>
[[gnu::noinline]] coro::lazy<std::uint64_t, Frames> sum_by_lazies(std::uint64_t n) noexcept(Promise == throws::never)
{
    if (n <= 1)
        co_return n;
    co_return n + co_await sum_by_lazies<Frames, Promise>(n - 1);
}

extern "C" [[gnu::noinline]] inline void run_chain(std::coroutine_handle<> outermost)
{
    outermost.resume();
}

/* The sum by a chain of coroutines; the sum by a stack of its own, taken from the pool and given back. */
using recursion = std::uint64_t (*)(std::uint64_t depth);

template <class Frames, throws Promise> std::uint64_t by_lazies(std::uint64_t depth)
{
    auto outermost = sum_by_lazies<Frames, Promise>(depth);
    run_chain(outermost.prepare(std::noop_coroutine(), coro::detail::no_environment));
    return outermost.result().take();
}

inline std::uint64_t by_fiber(std::uint64_t depth)
{
    std::uint64_t sum = 0;
    coro::context stack([&](coro::context::self) { sum = sum_by_calls(depth); }, {.size = RECURSION_STACK_BYTES});
    stack.resume();
    return sum;
}

/* Where a stack comes from that is made for one recursion and goes with it. */
struct malloc_stack {
    static void *take()
    {
        return ::operator new(RECURSION_STACK_BYTES);
    }
    static void give(void *stack) noexcept
    {
        ::operator delete(stack);
    }
};

struct mmap_stack {
    static void *take()
    {
        void *stack = mmap(nullptr, RECURSION_STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (stack == MAP_FAILED)
            throw std::bad_alloc();
        return stack;
    }
    static void give(void *stack) noexcept
    {
        munmap(stack, RECURSION_STACK_BYTES);
    }
};

/* The sum on a stack that is made for it, entered and left by the switch of every register. */
template <class Memory> std::uint64_t by_made_fiber(std::uint64_t depth)
{
    struct sides {
        void *outside, *inside;
        std::uint64_t depth, sum;
    } of{nullptr, nullptr, depth, 0};
    void *stack = Memory::take();
    of.inside = switch_begin_at(static_cast<std::byte *>(stack) + RECURSION_STACK_BYTES, [](void *argument) {
        auto &self = *static_cast<sides *>(argument);
        self.sum = sum_by_calls(self.depth);
        steelyard_switch_stacks(&self.inside, self.outside, nullptr);
    });
    steelyard_switch_stacks(&of.outside, of.inside, &of);
    Memory::give(stack);
    return of.sum;
}

inline recursion recursion_by_lazies(const probe_run *run, throws promise)
{
    const bool maybe = promise == throws::maybe;
    if (probe_is(run, "frames", "static"))
        return maybe ? by_lazies<static_frames, throws::maybe> : by_lazies<static_frames, throws::never>;
    if (probe_is(run, "frames", "malloc"))
        return maybe ? by_lazies<coro::heap_frames, throws::maybe> : by_lazies<coro::heap_frames, throws::never>;
    return maybe ? by_lazies<coro::pooled_frames, throws::maybe> : by_lazies<coro::pooled_frames, throws::never>;
}

inline constexpr std::uint64_t recursion_answer(std::uint64_t depth)
{
    return depth * (depth + 1) / 2;
}

/* How many of `times` recursions had the right answer. */
template <class Sum> [[gnu::always_inline]] inline std::uint64_t recur(Sum sum, std::uint64_t depth, std::uint64_t times)
{
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < times; i++) {
        std::uint64_t n = depth;
        asm volatile("" : "+r"(n)); /* so that the sum is not computed once for all */
        right += sum(n) == recursion_answer(depth);
    }
    return right;
}

template <class Sum> void recursion_batch(const probe_run *run, std::uint64_t operations, probe_value *value, Sum sum)
{
    const auto depth = static_cast<std::uint64_t>(probe_integer(run, "depth"));
    std::uint64_t right = 0;
    probe_guarded([&] {
        probe_start(value);
        right = recur(sum, depth, operations);
        probe_stop(value);
    });
    probe_count(value, "levels", operations * depth);
    probe_count(value, "checked", right);
}

#endif
