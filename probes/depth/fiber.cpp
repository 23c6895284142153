/* SPDX-License-Identifier: Apache-2.0
 * fiber - recursion of n levels by plain calls on the stack of a stackful coroutine, which is made for it and ends with it.
 *
 * Known answer: the sum of 1 to n.
 * Overhead: comparing the sum, under 1 ns a recursion.  Limits: stacks of 512 KiB from a pool, of which all have been
 * touched as deep as they are used; a first touch is a page fault. depth/call is the same recursion alone.
 * Assembly: sum_by_calls contains (call|bl).*<sum_by_calls
 * Source: Uthread_call_depth of alibaba/async_simple's benchmarks, where the compiler made a loop of the recursion. */
#include "recursion.hpp"

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    recursion_batch(run, operations, value, by_fiber);
}

static constexpr probe_param parameters[] = {recursion_depth, {}};

static constexpr probe fiber_probe = {
    .title = "C++ coroutine, with a stack",
    .question = "What does a recursion of n levels cost on the stack of a fiber?",
    .operation = "a fiber made from the pool, one switch in, n calls down and back up, one switch out, the fiber ended",
    .source = "alibaba/async_simple at 2db1337d (2022), Uthread_call_depth",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .baseline = "depth/call",
    .family = "chain",
    .metrics = recursion_metrics,
    .params = parameters,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&fiber_probe, argc, argv);
}
