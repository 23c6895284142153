/* SPDX-License-Identifier: Apache-2.0
 * null - a fixed amount of arithmetic: the lab weighs itself with it. The skeleton to copy for a new probe.
 *
 * Known answer: every operation is WORK multiplications of one dependent chain, whose end value is known.
 * Overhead: two clock reads a batch.  Limits: says nothing about the machine but its multiplier and its noise.
 * Assembly: multiply contains imul|madd|mul
 * Source: after fio's null engine, which does nothing in order to test fio itself. */
#include "probe.h"

#define WORK 1000 /* multiplications an operation: 100 steps are one percent of it and more, whatever the clock speed */
#define FACTOR UINT64_C(6364136223846793005)

/* A dependent chain: the processor cannot overlap it and the compiler cannot shorten it. */
static __attribute__((noinline)) uint64_t multiply(uint64_t seed, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++) {
        seed = seed * FACTOR + 1;
        __asm__ volatile("" : "+r"(seed));
    }
    return seed;
}

static uint64_t steps_per_operation(const struct probe_run *run)
{
    return WORK + (uint64_t)probe_integer(run, "delay_percent") * WORK / 100;
}

/* Required. The framework asks for `operations`; all between start and stop is timed. */
static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    uint64_t steps = steps_per_operation(run), seed = 1;
    probe_start(value);
    for (uint64_t i = 0; i < operations; i++)
        seed = multiply(seed, steps);
    probe_stop(value);
    /* Required: prove the work. Here the whole chain is done again untimed, in closed form (square and multiply). */
    uint64_t expected = 1, factor = FACTOR, term = 1;
    for (uint64_t left = operations * steps; left; left >>= 1) {
        if (left & 1)
            expected = expected * factor + term;
        term = term * factor + term;
        factor *= factor;
    }
    probe_count(value, "checked", seed == expected ? operations : 0);
}

static const struct probe null_probe = {
    .title = "fixed arithmetic",
    .question = "What does a fixed amount of arithmetic cost, and does the lab find a known difference?",
    .operation = "1000 dependent 64-bit multiplications, more by delay_percent",
    .source = "after fio's null engine (axboe/fio, engines/null.c)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"operation", "s", "lower", "wall", "operations", "time of one operation"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "delay_percent", .doc = "planted slow-down", .unit = "1", .sweep = "0", .min = 0, .max = 1000},
        {.name = "copy", .doc = "changes nothing: tells the halves of an A/A pair apart", .unit = "1", .sweep = "0",
         .min = 0, .max = 1},
        {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&null_probe, argc, argv);
}
