/* SPDX-License-Identifier: Apache-2.0
 * call - recursion by plain calls, n levels down and back up: what depth costs before any coroutine is in it.
 *
 * Known answer: the sum of 1 to n.
 * Overhead: comparing the sum, under 1 ns a recursion.  Limits: small frames, on a stack that stays in the cache; beyond
 * some 16 levels the processor's own stack of return addresses overflows and returns are mispredicted.
 * Assembly: sum_by_calls contains (call|bl).*<sum_by_calls
 * Source: Uthread_call_depth of alibaba/async_simple's benchmarks, where the compiler made a loop of the recursion. */
#include "recursion.hpp"

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    recursion_batch(run, operations, value, sum_by_calls);
}

static constexpr probe_param parameters[] = {recursion_depth, {}};

static constexpr probe call_probe = {
    .title = "C++ call",
    .question = "What does a recursion of n levels cost by plain calls?",
    .operation = "one recursion, n calls down and back up",
    .source = "alibaba/async_simple at 2db1337d (2022), call_depth",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .family = "chain",
    .metrics = recursion_metrics,
    .params = parameters,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&call_probe, argc, argv);
}
