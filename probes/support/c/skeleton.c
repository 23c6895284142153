/* SPDX-License-Identifier: Apache-2.0
 * copy - bytes copied within the cache. Replace all of this by what you want to know.
 *
 * Build: cc -O2 -g -pthread -I../support/c -DPROBE_ID='"QUESTION/WAY"' -DPROBE_FLAGS='"-O2 -g"' \
 *        WAY.c ../support/c/probe.c ../support/c/contexts.c ../support/c/counters.c -o WAY
 * Known answer: each copy carries its own number in its last byte.
 * Overhead: a turn of the loop and the writing of that number.  Limits: both buffers stay in the cache. */
#include "probe.h"

#include <string.h>

#define LARGEST 65536

static unsigned char from[LARGEST], to[LARGEST];

/* All between start and stop is timed. */
static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    size_t size = (size_t)probe_integer(run, "size");
    uint64_t right = 0;
    probe_start(value);
    for (uint64_t i = 0; i < operations; i++) {
        from[size - 1] = (unsigned char)i;
        memcpy(to, from, size);
        __asm__ volatile("" : : "r"(to) : "memory"); /* the compiler must not leave a copy out */
        right += to[size - 1] == (unsigned char)i;
    }
    probe_stop(value);
    probe_count(value, "checked", right); /* the proof: must be the number of operations */
}

static const struct probe copy_probe = {
    .title = "copy within the cache",
    .question = "What does copying within the cache cost?",
    .operation = "one memcpy of `size` bytes",
    .source = "written for this purpose",
    .statistic = "lower_quartile", /* "median" where waiting or contention is the subject */
    .placements = "same",          /* with several parties also cross and free */
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"copy", "s", "lower", "wall", "operations", "time of one copy"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "size", .doc = "bytes a copy", .unit = "B", .sweep = "64,4096", .min = 1, .max = LARGEST}, {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&copy_probe, argc, argv);
}
