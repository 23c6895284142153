/* SPDX-License-Identifier: Apache-2.0
 * full_switch - two stacks of one thread switch by a function that keeps every register that a call keeps.
 *
 * The kind of switch that most libraries of stackful coroutines have. switch/fiber is inlined and keeps only what is in
 * use: the difference is what the registers and the call cost.
 *
 * Known answer: the other side counts how often it was entered.
 * Overhead: counting, under 1 ns.  Limits: two stacks that stay in the cache, and a jump that the branch predictor knows.
 * Assembly: enter_and_leave contains (call|bl).*<steelyard_switch_stacks
 * Assembly: steelyard_switch_stacks contains fnstcw|stp\s+d8
 * Source: the uthread of alibaba/async_simple at 2db1337d (2022) and Boost.Context, whose jumps keep the same registers. */
#include "full_switch.hpp"
#include "in_out.hpp"

static std::uint64_t arrivals;
static void *outside, *inside;

extern "C" [[gnu::noinline]] void enter_and_leave(std::uint64_t pairs)
{
    for (std::uint64_t i = 0; i < pairs; i++)
        steelyard_switch_stacks(&outside, inside, nullptr);
}

static void stay_inside(void *)
{
    for (;;) {
        arrivals++;
        steelyard_switch_stacks(&inside, outside, nullptr);
    }
}

static void setup(probe_run *)
{
    alignas(64) static std::byte stack[64 * 1024];
    inside = switch_begin_at(stack + sizeof stack, stay_inside);
}

static void batch(probe_run *, std::uint64_t operations, probe_value *value)
{
    in_out_batch(operations, value, [&](std::uint64_t pairs) {
        const std::uint64_t before = arrivals;
        enter_and_leave(pairs);
        return arrivals - before;
    });
}

static constexpr probe full_switch_probe = {
    .title = "C++ switch that keeps all registers",
    .question = "What does a switch between two stacks cost that keeps every register?",
    .operation = "one switch between two stacks of one thread, one way; no creation",
    .source = "alibaba/async_simple at 2db1337d (2022), Uthread_pure_switch; Boost.Context",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = in_out_metrics,
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&full_switch_probe, argc, argv);
}
