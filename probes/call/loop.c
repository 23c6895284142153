/* SPDX-License-Identifier: Apache-2.0
 * loop - the empty loop around every other probe of this folder: their baseline.
 *
 * Known answer: each turn adds one to a number that the compiler must hand through a register, so the end value is
 * the count of turns.
 * Overhead: two clock reads a batch.  Limits: one turn is one or two clock cycles, and which of them depends on where
 * the loop lies in memory; it is therefore aligned to a cache line, and so are the loops that it is subtracted from.
 * Assembly: repeat contains \bjn[ez]\b|\bjn?[abc]e?\b|\bb\.(ne|any|cc|lo|hi)\b|cbnz
 * Source: lmbench 3 measures its loop's overhead and subtracts it; s_call.c of 2014 counted it to the call. */
#include "probe.h"

/* The addition is the chain that call/direct sends through its function, so that the difference is the call alone.
 * Counting down with an empty body would be a cycle shorter than any loop that has a result to carry. */
static __attribute__((noinline, aligned(PROBE_CACHE_LINE))) uint64_t repeat(uint64_t number, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        number++;
        __asm__ volatile("" : "+r"(number));
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

static const struct probe loop_probe = {
    .title = "empty loop",
    .question = "What does the loop cost that repeats a call?",
    .operation = "one turn of a loop that adds one to a number, without any call",
    .source = "C. Staelin: lmbench: an extensible micro-benchmark suite, Software: Practice and Experience 35, 2005 "
              "(loop overhead is measured and subtracted)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"iteration", "s", "lower", "wall", "operations", "time of one turn of the loop"}, {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&loop_probe, argc, argv);
}
