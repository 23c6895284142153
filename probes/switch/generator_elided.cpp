/* SPDX-License-Identifier: Apache-2.0
 * generator_elided - the next value of a generator that the compiler removes: what is left of a switch when there is none.
 *
 * A generator that is made, read and destroyed in one function may be taken apart: clang keeps its frame in registers
 * and its body in the loop. gcc never does; there removed=by_compiler is skipped, for its frame is found to be
 * allocated. removed=by_hand is the same thing written without a coroutine, as any compiler leaves it.
 *
 * Known answer: the sum of the values.
 * Overhead: it is nothing else.  Limits: says what the optimiser can do with a loop, not what a switch costs.
 * Assembly: take_by_hand contains add
 * Assembly: take_by_hand lacks (call|bl)
 * Assembly: take_by_compiler contains add
 * Source: Generator_pure_switch of alibaba/async_simple's benchmarks: 0.386 ns, one clock cycle, for a switch in and out. */
#include "take_values.hpp"

#include <coro/generator.hpp>

/* Counts the frames that the compiler did not remove. */
struct counted_frames {
    static inline std::uint64_t made;

    static void *allocate(std::size_t size)
    {
        made++;
        return ::operator new(size);
    }
    static void release(void *frame, std::size_t) noexcept
    {
        ::operator delete(frame);
    }
};

static coro::generator<std::uint64_t, counted_frames> count_up()
{
    for (std::uint64_t i = 0;; i++)
        co_yield i;
}

extern "C" [[gnu::noinline]] std::uint64_t take_by_hand(std::uint64_t count)
{
    state_machine from;
    return sum_of(from, count);
}

extern "C" [[gnu::noinline]] std::uint64_t take_by_compiler(std::uint64_t count)
{
    auto from = count_up();
    return sum_of(from, count);
}

static void setup(probe_run *run)
{
    if (probe_is(run, "removed", "by_hand"))
        return;
    take_by_compiler(1);
    if (counted_frames::made != 0)
        probe_skip("this compiler (%s) keeps the generator and its frame: gcc removes no coroutine, clang does "
                   "(CXX=clang++ when Steelyard is built)",
                   PROBE_COMPILER);
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    const auto take = probe_is(run, "removed", "by_hand") ? take_by_hand : take_by_compiler;
    in_out_batch(operations, value, [take](std::uint64_t count) { return proven_by(take(count), count); });
}

static constexpr probe_param parameters[] = {
    {.name = "removed",
     .doc = "who took the coroutine away: the compiler, which not every one does, or the author",
     .choices = "by_hand,by_compiler",
     .sweep = "by_hand,by_compiler"},
    {}};

static constexpr probe generator_elided_probe = {
    .title = "C++ generator, compiled away",
    .question = "What does the next value of a generator cost where no coroutine is left of it?",
    .operation = "half of a turn of the loop that is left: it stands for one switch, one way, and none takes place",
    .source = "alibaba/async_simple at 2db1337d (2022), Generator_pure_switch; clang's coroutine elision",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = in_out_metrics,
    .params = parameters,
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&generator_elided_probe, argc, argv);
}
