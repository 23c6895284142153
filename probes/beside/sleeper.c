/* SPDX-License-Identifier: Apache-2.0
 * sleeper - sleeps of a millisecond: the neighbour that does next to nothing.
 *
 * `steelyard run --beside sleeper` measures beside it, where no difference should be found: what is found is what the
 * presence of a neighbour does to the figures, and not its work.
 *
 * Known answer: no sleep is shorter than it should be, by the clock that is read before the first and after the last.
 * Overhead: a wake-up and a system call a millisecond, about 5 us of CPU time.
 * Limits: a sleep is late by the timer slack (50 us) and a wake-up, which wake/timer measures.
 * Assembly: sleep_all contains (call|bl).*nanosleep
 * Source: clock_nanosleep(2). */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <time.h>

#include "probe.h"

#define SLEEP_NS 1000000

/* Returns the sleeps that were slept to their end. */
static __attribute__((noinline)) uint64_t sleep_all(uint64_t operations)
{
    const struct timespec length = {.tv_nsec = SLEEP_NS};
    uint64_t slept = 0;
    for (uint64_t i = 0; i < operations; i++)
        slept += clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL) == 0;
    return slept;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    probe_start(value);
    uint64_t slept = sleep_all(operations);
    probe_stop(value);
    bool long_enough = value->wall_ns >= operations * SLEEP_NS;
    probe_count(value, "checked", long_enough ? slept : 0);
}

static const struct probe sleeper_probe = {
    .title = "sleeping neighbour",
    .question = "How long is a sleep of a millisecond, and how much CPU time does a process take that only sleeps?",
    .operation = "one sleep of 1 ms by clock_nanosleep()",
    .source = "clock_nanosleep(2)",
    .statistic = "median",
    .placements = "same",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"sleep", "s", "lower", "wall", "operations", "time of one sleep"},
        {"sleep_cpu", "s", "lower", "cpu", "operations", "CPU time of one sleep"},
        {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&sleeper_probe, argc, argv);
}
