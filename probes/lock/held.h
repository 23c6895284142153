/* SPDX-License-Identifier: Apache-2.0
 * held.h - contexts that take one lock of counter_*.c, hold it, give it back, and think before they take it again.
 *
 * Holding and thinking are steps of work that do not touch memory, as many as take that long on a CPU that is not shared:
 * a context that loses its CPU with the lock holds it for longer, which is the point of some locks. A turn is a writer's
 * or, for `read_percent` of them drawn at random, a reader's.
 *
 * A writer reads the number, holds the lock, and stores one more: two writers at once lose a turn. A reader finds the same
 * number before and after it has held the lock, or the run fails. Each context counts the turns in which it read.
 *
 * One turn in 8 is timed: how long it takes until the lock is had. Overhead: two readings of the clock in these, and the
 * drawing, about 1 ns a turn.
 * A probe of this kind is `#include "held.h"` and `#include "counter_<way>.c"`, after `#define HELD_READS` where readers
 * take the lock by another function. */
#ifndef STEELYARD_LOCK_HELD_H
#define STEELYARD_LOCK_HELD_H

#define _GNU_SOURCE /* what some of the locks need, and before any header */

#include "counter.h"
#include "quantiles.h"

#include <string.h>

#define HELD_MOST_CONTEXTS 256
#define HELD_MOST_NS 10000000
#define HELD_TIMED_EVERY 8
#define HELD_STRETCH 500 /* steps whose length is taken to find how long one is */

/* One a context, written by it alone. */
struct holder {
    _Alignas(PROBE_CACHE_LINE) uint64_t random, reads, torn;
    uint32_t work;
    struct histogram waits; /* ns */
};

static struct held {
    struct holder *holder; /* shared */
    int contexts;
    uint32_t hold_steps, think_steps, read_percent;
    uint64_t operations;
    struct histogram waits; /* of the run since the search for the length of a batch */
} held;

static inline void held_work(struct holder *holder, uint32_t steps)
{
    uint32_t state = holder->work;
    for (; steps; steps--) {
        state = state * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(state));
    }
    holder->work = state;
}

/* SplitMix64 (Steele, Lea & Flood 2014). */
static inline uint64_t held_random(struct holder *holder)
{
    uint64_t z = holder->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

#ifndef HELD_READS
#define HELD_READS acquire
#endif

#undef COUNTER_UNDER_LOCK
#define COUNTER_UNDER_LOCK(ACQUIRE, RELEASE) \
    static __attribute__((noinline)) void hold_up(struct mechanism *mechanism, int index, uint64_t operations, \
                                                  shared_number *number) \
    { \
        struct holder *holder = &held.holder[index]; \
        for (uint64_t i = 0; i < operations; i++) { \
            bool reads = held.read_percent && held_random(holder) % 100 < held.read_percent; \
            bool timed_turn = i % HELD_TIMED_EVERY == 0; \
            uint64_t begin = timed_turn ? probe_now_ns() : 0; \
            if (reads) \
                HELD_READS(mechanism, index); \
            else \
                ACQUIRE(mechanism, index); \
            if (timed_turn) \
                histogram_add(&holder->waits, probe_now_ns() - begin); \
            uint64_t before = *number; \
            held_work(holder, held.hold_steps); \
            if (reads) { \
                holder->reads++; \
                holder->torn += *number != before; \
            } else { \
                *number = before + 1; \
            } \
            RELEASE(mechanism, index); \
            held_work(holder, held.think_steps); \
        } \
    } \
    static uint64_t count(struct mechanism *mechanism, int index, uint64_t operations, shared_number *number, \
                          uint64_t left) \
    { \
        (void)left; \
        hold_up(mechanism, index, operations, number); \
        return 0; \
    } \
    static void hold(struct mechanism *mechanism, int index) \
    { \
        ACQUIRE(mechanism, index); \
    } \
    static void let_go(struct mechanism *mechanism, int index) \
    { \
        RELEASE(mechanism, index); \
    }

/* The fastest of many stretches: whoever takes the CPU away for a while does not count. */
static double held_ns_per_step(void)
{
    struct holder trial = {0};
    uint64_t shortest = UINT64_MAX;
    for (int stretch = 0; stretch < 400; stretch++) {
        uint64_t begin = probe_now_ns();
        held_work(&trial, HELD_STRETCH);
        uint64_t took = probe_now_ns() - begin;
        shortest = took < shortest ? took : shortest;
    }
    return (double)shortest / HELD_STRETCH;
}

static void held_setup(struct probe_run *run)
{
    double step_ns = held_ns_per_step();
    held.contexts = (int)probe_integer(run, "contexts");
    held.hold_steps = (uint32_t)((double)probe_integer(run, "hold_ns") / step_ns);
    held.think_steps = (uint32_t)((double)probe_integer(run, "think_ns") / step_ns);
    held.read_percent = (uint32_t)probe_integer(run, "read_percent");
    held.holder = probe_share(HELD_MOST_CONTEXTS * sizeof *held.holder);
    for (int i = 0; i < held.contexts; i++)
        held.holder[i].random = (uint64_t)i << 32;
    counter_setup(run);
}

static struct holder held_together(void)
{
    static struct holder sum;
    memset(&sum, 0, sizeof sum);
    for (int i = 0; i < held.contexts; i++) {
        sum.reads += held.holder[i].reads;
        sum.torn += held.holder[i].torn;
        histogram_merge(&sum.waits, &held.holder[i].waits);
        held.holder[i].reads = held.holder[i].torn = 0;
        memset(&held.holder[i].waits, 0, sizeof sum.waits);
    }
    return sum;
}

static void held_batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct counting *counting = run->state;
    probe_start(value);
    count_together(counting, operations);
    probe_stop(value);
    struct part sum = sum_of_parts(counting);
    value->wall_ns = counting->end_ns - counting->start_ns;
    value->cpu_ns = sum.cpu_ns;
    value->has_user_system = false;
    value->voluntary = sum.voluntary;
    value->involuntary = sum.involuntary;
    static struct holder all;
    all = held_together();
    if (all.torn)
        probe_fail("%" PRIu64 " readers found that somebody wrote meanwhile", all.torn);
    if (operations != held.operations)
        memset(&held.waits, 0, sizeof held.waits);
    held.operations = operations;
    histogram_merge(&held.waits, &all.waits);
    probe_count(value, "checked", counting->number + all.reads);
    probe_count(value, "reads", all.reads);
    probe_count(value, "switches", sum.voluntary + sum.involuntary);
    probe_count(value, "timed", all.waits.count);
    probe_reading(value, "waited", (double)all.waits.total * 1e-9);
    quantile_report(value, "wait_p99", "enough_for_p99", &held.waits, 0.99, 1e-9);
}

static int held_main(const struct way *this_way, int argc, char **argv)
{
    way = this_way;
    const struct probe probe = {
        .title = way->title,
        .question = way->question,
        .properties = way->properties,
        .operation = "one turn of any of the contexts: the lock is taken, held and given back, and the context thinks",
        .source = way->source,
        .statistic = "median",
        .placements = "free,same",
        .uses = way->uses,
        .family = "held",
        .metrics = (const struct probe_metric[]){
            {"each", "s", "lower", "wall", "operations", "time between the ends of two turns, of all contexts together"},
            {"wait", "s", "lower", "waited", "timed", "mean time until a context has the lock"},
            {"wait_p99", "s", "lower", "wait_p99", "enough_for_p99",
             "99 % of those of the run so far take at most this; from 1000 of them on"},
            {"cpu", "s", "lower", "cpu", "operations", "CPU time of a turn, of all contexts"},
            {"switched_fraction", "1", "neither", "switches", "operations", "switches of the kernel for each turn"},
            {0}},
        .params = (const struct probe_param[]){
            {.name = "contexts", .doc = "contexts that take the lock", .unit = "1", .sweep = "8", .min = 1,
             .max = HELD_MOST_CONTEXTS},
            {.name = "kind", .doc = "what a context is", .choices = "thread,process", .sweep = "thread"},
            {.name = "hold_ns", .doc = "how long a turn holds the lock", .unit = "ns", .sweep = "200", .min = 0,
             .max = HELD_MOST_NS},
            {.name = "think_ns", .doc = "how long a context works between two turns", .unit = "ns", .sweep = "2000",
             .min = 0, .max = HELD_MOST_NS},
            {.name = "read_percent", .doc = "turns of a hundred that only read", .unit = "1", .sweep = "0", .min = 0,
             .max = 100},
            {0}},
        .setup = held_setup,
        .batch = held_batch,
        .teardown = counter_teardown,
        .selftest = counter_selftest,
    };
    return probe_main(&probe, argc, argv);
}
#define counter_main held_main

#endif
