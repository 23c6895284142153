/* SPDX-License-Identifier: Apache-2.0
 * numbers_of_own.h - threads that each count a number of their own, for false_sharing.c and false_sharing_atomic.c.
 *
 * The numbers lie in one cache line, in neighbour lines, apart, in a section of their own, or in each thread's own
 * memory. A probe defines count_up(), the timed part. */
#ifndef STEELYARD_CACHE_NUMBERS_OF_OWN_H
#define STEELYARD_CACHE_NUMBERS_OF_OWN_H

#include "together.h"
#include "words.h"

#define APART 4 /* lines from one number to the next when padded: beyond what is fetched in pairs */

#define LAYOUTS(X) X(same_line) X(neighbour_lines) X(padded) X(section) X(thread)
#define LAYOUT(word) LAYOUT_##word,
enum layout { LAYOUTS(LAYOUT) };

static __thread _Alignas(PROBE_CACHE_LINE) volatile uint64_t own_number;
/* As in the advice: what one thread writes lies in a section of its own, here one for each of two threads. */
static __attribute__((section(".data.steelyard_first"))) volatile uint64_t first_number = 1;
static __attribute__((section(".data.steelyard_second"))) volatile uint64_t second_number = 1;

struct numbers {
    enum layout layout;
    _Alignas(PROBE_CACHE_LINE) unsigned char memory[MOST_THREADS * APART * PROBE_CACHE_LINE];
};

struct sharing {
    struct together *together;
    struct numbers *numbers;
};

static volatile uint64_t *number_of(struct numbers *numbers, int index)
{
    static const uint64_t distance[] = {[LAYOUT_same_line] = sizeof(uint64_t),
                                        [LAYOUT_neighbour_lines] = PROBE_CACHE_LINE,
                                        [LAYOUT_padded] = APART * PROBE_CACHE_LINE};
    if (numbers->layout == LAYOUT_thread)
        return &own_number;
    if (numbers->layout == LAYOUT_section)
        return index == 0 ? &first_number : &second_number;
    return (volatile uint64_t *)(numbers->memory + (uint64_t)index * distance[numbers->layout]);
}

static void count_up(volatile uint64_t *number, uint64_t operations); /* the timed part, of the probe */

static uint64_t do_part(void *shared, int index, uint64_t operations)
{
    volatile uint64_t *number = number_of(shared, index);
    uint64_t before = *number;
    count_up(number, operations);
    return *number - before;
}

static void setup(struct probe_run *run)
{
    static struct sharing sharing;
    int threads = (int)probe_integer(run, "threads");
    sharing.numbers = probe_share(sizeof *sharing.numbers);
    sharing.numbers->layout = word_number(run, "layout", WORDS(LAYOUTS));
    if (sharing.numbers->layout == LAYOUT_section && threads > 2)
        probe_skip("layout=section has sections for two threads");
    sharing.together = together_new(run, threads, do_part, sharing.numbers);
    run->state = &sharing;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct sharing *sharing = run->state;
    probe_count(value, "checked", together_run(run, sharing->together, operations, value));
}

static void teardown(struct probe_run *run)
{
    struct sharing *sharing = run->state;
    together_end(run, sharing->together);
}

/* The rest of a probe, with what differs. */
#define FALSE_SHARING(TITLE, QUESTION, OPERATION, SOURCE) \
    { \
        .title = TITLE, \
        .question = QUESTION, \
        .operation = OPERATION, \
        .source = SOURCE, \
        .statistic = "median", \
        .placements = "cross,same", \
        .uses = "cpu", \
        .value_ms = 2, \
        .metrics = (const struct probe_metric[]){ \
            {"increment", "s", "lower", "wall", "operations", "time of an addition on the CPU that makes it"}, {0}}, \
        .params = (const struct probe_param[]){ \
            {.name = "layout", .doc = "where the threads' numbers lie", \
             .choices = WORDS(LAYOUTS), .sweep = WORDS(LAYOUTS), .brief = "same_line,padded"}, \
            {.name = "threads", .doc = "threads that count", .unit = "1", .sweep = "2,1", .brief = "2", .min = 1, \
             .max = MOST_THREADS}, \
            {0}}, \
        .setup = setup, \
        .batch = batch, \
        .teardown = teardown, \
    }

#endif
