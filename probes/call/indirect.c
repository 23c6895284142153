/* SPDX-License-Identifier: Apache-2.0
 * indirect - a call through a pointer: what a virtual method, a callback or a coroutine's resume is made of.
 *
 * Known answer: the function adds one and its result is its next argument, so the end value is the count of calls.
 * Overhead: the loop, which call/loop measures with the same addition.
 * Limits: a best case: one target, always predicted, held in a register. A table of functions adds a load, a target
 * that changes adds a misprediction of ten to twenty cycles, a build with retpolines adds more than either.
 * Assembly: repeat contains call\s+\*|blr
 * Source: the counterpart of s_call.c of shell909090/context, 2014, which has the direct call only. */
#include "probe.h"

static __attribute__((noinline, aligned(PROBE_CACHE_LINE))) uint64_t add_one(uint64_t number)
{
    number++;
    __asm__ volatile("" : "+r"(number));
    return number;
}

/* The barrier makes the pointer unknown anew in each turn. A volatile pointer would hide it as well, and would put a
 * load from memory into every call. */
static __attribute__((noinline, aligned(PROBE_CACHE_LINE))) uint64_t repeat(uint64_t number, uint64_t times)
{
    uint64_t (*function)(uint64_t) = add_one;
    for (uint64_t i = 0; i < times; i++) {
        __asm__ volatile("" : "+r"(function));
        number = function(number);
    }
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

static const struct probe indirect_probe = {
    .title = "call through a pointer",
    .question = "What does a call through a pointer cost?",
    .operation = "one call and return through a pointer in a register, to a function that adds one to its argument",
    .source = "counterpart of shell909090/context, s_call.c, 2014",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .baseline = "call/loop",
    .metrics = (const struct probe_metric[]){
        {"indirect_call", "s", "lower", "wall", "operations", "time of one call and return, with the loop"}, {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&indirect_probe, argc, argv);
}
