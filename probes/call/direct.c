/* SPDX-License-Identifier: Apache-2.0
 * direct - a call of a function whose address is in the instruction: the least that crossing a boundary can cost.
 *
 * Known answer: the function adds one and its result is its next argument, so the end value is the count of calls.
 * Overhead: the loop, which call/loop measures with the same addition.
 * Limits: a best case: the target is predicted, the return comes from the return stack, no register is saved. The
 * processor may do parts of one call beside the next, so this is what a call adds to a program, not how long one takes.
 * Assembly: repeat contains (call|bl)\s.*<add_one>
 * Source: s_call.c of shell909090/context, 2014; lat_proc procedure of lmbench 3. */
#include "probe.h"

/* The barrier hides what the function computes: gcc could prove it pure and reckon the loop in closed form. */
static __attribute__((noinline, aligned(PROBE_CACHE_LINE))) uint64_t add_one(uint64_t number)
{
    number++;
    __asm__ volatile("" : "+r"(number));
    return number;
}

/* Each call waits for the result of the one before: independent calls would show how many fit into the processor at
 * once. The chain is one addition long and no longer, because a call hides behind any slower chain. */
static __attribute__((noinline, aligned(PROBE_CACHE_LINE))) uint64_t repeat(uint64_t number, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++)
        number = add_one(number);
    return number;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t first = probe_now_ns(); /* the compiler would make a copy of the loop for a number that it knows */
    probe_start(value);
    uint64_t number = repeat(first, operations);
    probe_stop(value);
    probe_count(value, "checked", number - first);
}

static const struct probe direct_probe = {
    .title = "function call",
    .question = "What does a call of a known function cost?",
    .operation = "one direct call and return of a function that adds one to its argument",
    .source = "shell909090/context, s_call.c, 2014 (2.34 ns, unoptimised, with the loop); lmbench 3, lat_proc",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .baseline = "call/loop",
    .metrics = (const struct probe_metric[]){
        {"call", "s", "lower", "wall", "operations", "time of one call and return, with the loop"}, {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&direct_probe, argc, argv);
}
