/* SPDX-License-Identifier: Apache-2.0
 * conformance - what tests/protocol/test_conformance.py holds every support to; in each language the same.
 *
 * Known answer: the sum of the numbers below `operations`.  `trouble` plants what a support has to find. */
#include "probe.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool planted(const struct probe_run *run, const char *trouble)
{
    const char *elsewhere = getenv("CONFORMANCE_TROUBLE"); /* for the selftest, which takes no parameters */
    return elsewhere ? strcmp(elsewhere, trouble) == 0 : probe_is(run, "trouble", trouble);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    static uint64_t batches;
    int64_t number = probe_integer(run, "number");
    uint64_t done = planted(run, "more") ? 2 * operations : planted(run, "fewer") ? operations - 1 : operations;
    if (planted(run, "idle"))
        done = 0;
    if (planted(run, "slow"))
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    if (planted(run, "fails") || planted(run, "breaks")) /* an exception in languages that have them */
        probe_fail("it went wrong");
    if (planted(run, "skips"))
        probe_skip("there is no such thing");
    if (planted(run, "caveat"))
        probe_caveat("a \"doubt\" of %d", 1);
    uint64_t sum = 0;
    if (!planted(run, "unstarted"))
        probe_start(value);
    for (uint64_t i = 0; i < done; i++) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));
    }
    if (!planted(run, "unstarted"))
        probe_stop(value);
    value->operations = done;
    value->lanes = 2;
    uint64_t checked = sum == (done ? done * (done - 1) / 2 : 0) ? done : 0;
    if (!planted(run, "unproven"))
        probe_count(value, "checked", planted(run, "wrong") ? checked - 1 : checked);
    probe_count(value, "batches", ++batches);
    probe_reading(value, "half", (double)number / 2);
}

static const struct probe conformance = {
    .title = "conformance",
    .question = "Does the support of this language keep the protocol?",
    .operation = "one addition",
    .source = "docs/reference/protocol.md",
    .statistic = "median",
    .placements = "same,cross,free",
    .uses = "cpu",
    .value_ms = 5,
    .baseline = "null/null",
    .family = "supports",
    .metrics = (const struct probe_metric[]){
        {"one", "s", "lower", "wall", "operations", "time of one addition"},
        {"half", "1", "neither", "half", "one", "half of what was given as \"number\""}, {0}},
    .params = (const struct probe_param[]){
        {.name = "number", .doc = "a number", .unit = "B", .sweep = "3,4", .brief = "4", .curves = "half", .min = -2, .max = 9},
        {.name = "trouble", .doc = "what goes wrong", .sweep = "none", .brief = "none",
         .choices = "none,more,caveat,wrong,unproven,unstarted,idle,fewer,slow,breaks,fails,skips"},
        {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&conformance, argc, argv);
}
