/* SPDX-License-Identifier: Apache-2.0
 * lazy - recursion of n levels by stackless coroutines, each of which awaits the next: a frame a level.
 *
 * Known answer: the sum of 1 to n; with frames=static, every level has taken a frame of the same size from the array.
 * Overhead: comparing the sum, under 1 ns a recursion.  Limits: frames that stay in the cache; nobody waits for anything,
 * so that it is the price of the calls alone.
 * Assembly: run_chain contains (call|jmp|blr?|br).*(\*|x[0-9])
 * Source: Lazy_call_depth of alibaba/async_simple's benchmarks, its variants with static frames and with noexcept. */
#include "recursion.hpp"

static throws promise_of(const probe_run *run)
{
    return probe_is(run, "throws", "maybe") ? throws::maybe : throws::never;
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    recursion_batch(run, operations, value, recursion_by_lazies(run, promise_of(run)));
}

/* Deepest use of the array by a recursion. */
struct measured_frames : static_frames {
    static inline std::size_t deepest;

    static void *allocate(std::size_t size)
    {
        void *frame = static_frames::allocate(size);
        deepest = used > deepest ? used : deepest;
        return frame;
    }
};

static void selftest(probe_run *run)
{
    (void)run;
    by_lazies<measured_frames, throws::maybe>(1);
    const std::size_t one = measured_frames::deepest;
    by_lazies<measured_frames, throws::maybe>(100);
    if (one == 0 || measured_frames::deepest != 100 * one || static_frames::used != 0)
        probe_fail("a recursion of 100 levels took %zu bytes of frames, and one of 1 level %zu: frames were left out",
                   measured_frames::deepest, one);
}

static constexpr probe_param parameters[] = {recursion_depth, recursion_frames,
                                             {.name = "throws",
                                              .doc = "whether the coroutine is declared noexcept: maybe not, never so",
                                              .choices = "maybe,never",
                                              .sweep = "maybe,never",
                                              .brief = "maybe"},
                                             {}};

static constexpr probe lazy_probe = {
    .title = "C++ coroutine, stackless",
    .question = "What does a recursion of n levels cost by stackless coroutines?",
    .operation = "one recursion, n coroutines made, awaited and destroyed",
    .source = "alibaba/async_simple at 2db1337d (2022), Lazy_call_depth",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .baseline = "depth/call",
    .family = "chain",
    .metrics = recursion_metrics,
    .params = parameters,
    .batch = batch,
    .selftest = selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&lazy_probe, argc, argv);
}
