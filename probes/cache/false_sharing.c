/* SPDX-License-Identifier: Apache-2.0
 * false_sharing - threads that each count a number of their own, which lie in one cache line, in neighbour lines,
 * apart, in a section of their own, or in each thread's own memory.
 *
 * The threads have nothing to do with each other but the line. Whoever writes it takes it from the others, and the line
 * travels as if they shared the number.
 *
 * Known answer: each number comes out as its thread's part; none is lost, for none is shared.
 * Overhead: none that shows; one thread alone (threads=1) is what an addition in memory costs.
 * Limits: a processor whose stores wait in a queue makes many additions for each time that it has the line. section=own
 * is what the advice says, variables of one thread in a section; two of them are neighbours there as anywhere else.
 * Assembly: count_up contains add[ql]?\s+\$0x1,|\bstr
 * Source: Drepper, What Every Programmer Should Know About Memory (2007), section 6.4.1; Torrellas, Lam & Hennessy,
 * False Sharing and Spatial Locality in Multiprocessor Caches (IEEE TC 43(6), 1994). */
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

/* The timed part. */
static __attribute__((noinline)) void count_up(volatile uint64_t *number, uint64_t operations)
{
    for (uint64_t i = 0; i < operations; i++)
        (*number)++;
}

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

static const struct probe false_sharing_probe = {
    .question = "What does it cost that threads write to numbers of their own in one cache line?",
    .operation = "one addition to a number in memory by any of the threads; CPU time of all that work",
    .source = "Drepper, What Every Programmer Should Know About Memory (2007), section 6.4.1; Torrellas, Lam & "
              "Hennessy (IEEE TC 1994)",
    .statistic = "median",
    .placements = "cross,same",
    .uses = "cpu",
    .value_ms = 2,
    .metrics = (const struct probe_metric[]){
        {"increment", "s", "lower", "wall", "operations", "time of an addition on the CPU that makes it"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "layout", .doc = "where the threads' numbers lie",
         .choices = WORDS(LAYOUTS), .sweep = WORDS(LAYOUTS), .brief = "same_line,padded"},
        {.name = "threads", .doc = "threads that count", .unit = "1", .sweep = "2,1", .brief = "2", .min = 1,
         .max = MOST_THREADS},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&false_sharing_probe, argc, argv);
}
