/* SPDX-License-Identifier: Apache-2.0
 * swapcontext - two stacks of one thread switch by the C library's swapcontext.
 *
 * Most of it is the system call in it that saves and sets the signal mask; compare switch/setjmp_stacks, which leaves
 * the mask alone.
 *
 * Known answer: both sides arrive equally often.
 * Overhead: counting, under 1 ns.  Limits: two stacks that stay in the cache.
 * Assembly: switch_pairs contains (call|bl).*<swapcontext
 * Source: s_context.c of shell909090/context (2014): 33.46 s for 2e8 swaps, two a turn of its loop, 167.3 ns each. */
#include "two_stacks.h"

static void second_body(void)
{
    for (;;) {
        stacks.arrived_second++;
        swapcontext(&stacks.second, &stacks.first);
    }
}

static __attribute__((noinline)) void switch_pairs(uint64_t pairs)
{
    for (uint64_t i = 0; i < pairs; i++) {
        swapcontext(&stacks.first, &stacks.second);
        stacks.arrived_first++;
    }
}

static void setup(struct probe_run *run)
{
    (void)run;
    second_stack_start(second_body);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    two_stacks_batch(operations, value, switch_pairs);
}

static const struct probe swapcontext_probe = {
    .title = "swapcontext",
    .question = "What does a switch between two stacks by swapcontext cost?",
    .operation = "one swapcontext call, one way",
    .source = "shell909090/context s_context.c (2014)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"switch", "s", "lower", "wall", "operations", "time of one swap, one way"}, {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&swapcontext_probe, argc, argv);
}
