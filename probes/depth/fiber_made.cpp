/* SPDX-License-Identifier: Apache-2.0
 * fiber_made - recursion of n levels by plain calls on a stack that is made for it, entered once, left once and given
 * back, as by libraries that keep no pool of stacks.
 *
 * Known answer: the sum of 1 to n.
 * Overhead: comparing the sum, under 1 ns a recursion.  Limits: malloc() may keep the memory of the last stack and hand
 * it out again, touched as it is; what mmap() gives is touched for the first time, a page fault each 4 KiB of depth.
 * Stacks of 512 KiB, without a guard below them.
 * Assembly: sum_by_calls contains (call|bl).*<sum_by_calls
 * Assembly: steelyard_switch_stacks contains fnstcw|stp\s+d8
 * Source: Uthread_call_depth of alibaba/async_simple's benchmarks, whose coroutine allocates 512 KiB by new. */
#include "recursion.hpp"

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    const bool by_malloc = probe_is(run, "stack", "malloc");
    recursion_batch(run, operations, value, by_malloc ? by_made_fiber<malloc_stack> : by_made_fiber<mmap_stack>);
}

static constexpr probe_param parameters[] = {recursion_depth,
                                             {.name = "stack",
                                              .doc = "where the stack of 512 KiB comes from, each time",
                                              .choices = "malloc,mmap",
                                              .sweep = "malloc,mmap",
                                              .brief = "malloc"},
                                             {}};

static constexpr probe fiber_made_probe = {
    .title = "C++ call on a stack that is allocated",
    .question = "What does a recursion of n levels cost on the stack of a fiber that is allocated for it?",
    .operation = "a stack allocated, one switch in, n calls down and back up, one switch out, the stack freed",
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
    return probe_main(&fiber_made_probe, argc, argv);
}
