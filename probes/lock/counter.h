/* SPDX-License-Identifier: Apache-2.0
 * counter.h - contexts that together count one shared number up, each addition under the mechanism that is measured.
 *
 * The contexts live from setup to teardown. A batch wakes them, lets them line up and start together; each makes its
 * part of the additions; it is timed from the common start to the end of the last. So creation is not in it; and unlike
 * in lock/mutex the work is fixed: whoever is done stops, and the last ones have the lock to themselves.
 *
 * Where there is a lock the probe holds it until all wait for it, as Stevens has it, and they start when it lets go. It
 * decides more than who is first: a lock that goes to the next in line has two states that keep themselves up. While
 * nobody is interrupted with it on one CPU, each finds it free; once two wait for it, they pass it to and fro for ever.
 * From a gate a batch is in one or the other by chance, a factor of hundreds apart; from the lock it starts contended.
 *
 * The number is loaded, added to and stored, not in one step (but for the atomic): two owners at once lose a count,
 * and the batch fails. What an addition found tells for nothing whether another context came between: a change of the
 * owner. That is the one thing to know about such figures, for a lock is cheap as long as one context keeps it.
 *
 * Among hundreds of contexts 10 ms are a few additions each, and mostly start and end: let a batch take 1 s there. */
#ifndef STEELYARD_LOCK_COUNTER_H
#define STEELYARD_LOCK_COUNTER_H

#include "contexts.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <time.h>

#define LINE_UP_US 100

typedef volatile uint64_t shared_number;

/* The mechanism, in memory shared with contexts number 0 to contexts-1, which start later. What is in it is the probe's
 * own matter. */
struct mechanism;

/* One way of counting together: what a probe hands to counter_main(). */
struct way {
    const char *title, *question, *source, *properties, *uses; /* as in struct probe */
    struct probe_param param;             /* optional: one that only this way has */
    struct mechanism *(*create)(const struct probe_run *run, int contexts, bool processes);
    /* the timed part: `operations` additions by context number `index`; returns how often the owner changed */
    uint64_t (*count)(struct mechanism *mechanism, int index, uint64_t operations, shared_number *number,
                      uint64_t left);
    /* optional: called by each context after its last addition, in the timed part */
    void (*settle)(struct mechanism *mechanism, int index, shared_number *number);
    void (*remove)(struct mechanism *mechanism); /* optional: called when all contexts have ended */
    /* optional: by these the probe holds what all contexts need, and lets it go. It is number `contexts` there. */
    void (*hold)(struct mechanism *mechanism, int index);
    void (*let_go)(struct mechanism *mechanism, int index);
};
static const struct way *way; /* the one of this program; set by counter_main() */

/* The addition itself, for those who hold the lock. Volatile, so that it takes place between taking and giving back. */
static inline uint64_t add_one(shared_number *number)
{
    uint64_t before = *number;
    *number = before + 1;
    return before;
}

/* Of these macros a probe uses one of the latter two: it defines in the probe what struct way asks for, so that the
 * addition is inlined in the loop. Nobody takes the address of count_up() and of what it calls, so that the compiler
 * leaves out arguments that a mechanism does not use.
 *
 * The timed part. INCREMENT returns what the number was before. An addition that does not find what this context `left`
 * comes after another's; in a batch the number starts at 0. */
#define COUNTER_LOOP(INCREMENT) \
    static __attribute__((noinline)) uint64_t count_up(struct mechanism *mechanism, int index, uint64_t operations, \
                                                       shared_number *number, uint64_t left) \
    { \
        uint64_t owner_changes = 0; \
        for (uint64_t i = 0; i < operations; i++) { \
            uint64_t found = INCREMENT(mechanism, index, number); \
            owner_changes += found != left; \
            left = found + 1; \
        } \
        return owner_changes; \
    }

/* Defines count(): an addition is INCREMENT(mechanism, index, number). */
#define COUNTER_WITHOUT_LOCK(INCREMENT) \
    COUNTER_LOOP(INCREMENT) \
    static uint64_t count(struct mechanism *mechanism, int index, uint64_t operations, shared_number *number, \
                          uint64_t left) \
    { \
        (void)left; /* 0: all additions are in the loop */ \
        return count_up(mechanism, index, operations, number, 0); \
    }

/* Defines count(), hold() and let_go(): an addition stands between ACQUIRE(mechanism, index) and RELEASE(mechanism,
 * index). */
#define COUNTER_UNDER_LOCK(ACQUIRE, RELEASE) \
    static inline uint64_t increment(struct mechanism *mechanism, int index, shared_number *number) \
    { \
        ACQUIRE(mechanism, index); \
        uint64_t before = add_one(number); \
        RELEASE(mechanism, index); \
        return before; \
    } \
    COUNTER_LOOP(increment) \
    static uint64_t count(struct mechanism *mechanism, int index, uint64_t operations, shared_number *number, \
                          uint64_t left) \
    { \
        return count_up(mechanism, index, operations, number, left); \
    } \
    static void hold(struct mechanism *mechanism, int index) \
    { \
        ACQUIRE(mechanism, index); \
    } \
    static void let_go(struct mechanism *mechanism, int index) \
    { \
        RELEASE(mechanism, index); \
    }

/* What one context has to say of its part of a batch, written by that context alone. */
struct part {
    _Alignas(PROBE_CACHE_LINE) uint64_t owner_changes;
    uint64_t cpu_ns, voluntary, involuntary;
    int cpu[2]; /* on which it began and ended */
};

/* All of it is shared. The words that contexts wait on have lines of their own, and so has the number: what a mechanism
 * shares with it would be luck of the layout. */
struct counting {
    int contexts;
    struct mechanism *mechanism;
    struct contexts *counters;
    struct part *parts;
    uint64_t operations;
    bool over;
    uint64_t start_ns, end_ns;
    _Alignas(PROBE_CACHE_LINE) uint32_t called; /* the batch that the contexts are woken for; they sleep on it */
    _Alignas(PROBE_CACHE_LINE) uint32_t lined_up;
    _Alignas(PROBE_CACHE_LINE) uint32_t begun; /* the batch that has started */
    _Alignas(PROBE_CACHE_LINE) uint32_t finished;
    _Alignas(PROBE_CACHE_LINE) uint32_t ended; /* the batch whose last context is done; the probe sleeps on it */
    _Alignas(PROBE_CACHE_LINE) shared_number number;
};

/* --- waiting without the kernel, for the locks that spin ------------------------------------------------------- */

/* As long as a switch takes and no longer: whoever spins on has then lost at most as much again (Karlin et al., SOSP
 * 1991). A pause is 10 to 140 cycles, so this is between 0.3 and 5 us. */
#define SPIN_PAUSES 100

/* Pauses before the CPU is given away-> None on a single CPU: as long as we spin there nobody else can let us in. */
static inline uint32_t spin_pauses(const struct probe_run *run)
{
    return run->cpus > 1 ? SPIN_PAUSES : 0;
}

/* One turn of a waiting loop, of which `turn` went by. Without the yield a lock that goes to the next in line would
 * stand still for a whole time slice whenever that one is not running. */
static inline void spin_turn(uint32_t turn, uint32_t pauses)
{
    if (turn % (pauses + 1) == pauses) {
        sched_yield();
        return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* --- a context ------------------------------------------------------------------------------------------------- */

static uint64_t thread_cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static uint64_t operations_of(const struct counting *counting, int index)
{
    uint64_t contexts = (uint64_t)counting->contexts;
    return counting->operations / contexts + ((uint64_t)index < counting->operations % contexts);
}

static void read_effort(struct part *part)
{
    struct switches now = thread_switches();
    part->voluntary = now.voluntary - part->voluntary;
    part->involuntary = now.involuntary - part->involuntary;
    part->cpu_ns = thread_cpu_ns() - part->cpu_ns;
}

/* The addition with which a context waits for the start. What it spent on waiting is not counted, so it reads its clock
 * once it has the lock; before or after it would let the next one find the lock free. */
static uint64_t first_addition(struct counting *counting, int index)
{
    struct part *part = &counting->parts[index];
    way->hold(counting->mechanism, index);
    read_effort(part);
    uint64_t found = add_one(&counting->number);
    part->owner_changes = found != 0;
    way->let_go(counting->mechanism, index);
    return found + 1;
}

static void do_part(struct counting *counting, int index)
{
    struct part *part = &counting->parts[index];
    uint64_t operations = operations_of(counting, index), left = 0;
    *part = (struct part){.cpu[0] = thread_cpu()};
    if (way->hold && operations > 0) {
        left = first_addition(counting, index);
        operations--;
    } else {
        read_effort(part);
    }
    part->owner_changes += way->count(counting->mechanism, index, operations, &counting->number, left);
    if (way->settle)
        way->settle(counting->mechanism, index, &counting->number);
    read_effort(part);
    part->cpu[1] = thread_cpu();
}

static bool wait_for_call(struct counting *counting, uint32_t batch)
{
    uint32_t called;
    while ((called = __atomic_load_n(&counting->called, __ATOMIC_ACQUIRE)) != batch)
        futex_wait(&counting->called, called, 0);
    return !counting->over;
}

static bool line_up(struct counting *counting)
{
    uint32_t before_us = __atomic_fetch_add(&counting->lined_up, 1, __ATOMIC_ACQ_REL);
    return before_us + 1 == (uint32_t)counting->contexts;
}

/* For want of a lock. Nobody sleeps here: the first would have made half its additions before the last had woken up. */
static void start_together(struct counting *counting, uint32_t batch)
{
    if (line_up(counting)) {
        counting->start_ns = probe_now_ns();
        __atomic_store_n(&counting->begun, batch, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&counting->begun, __ATOMIC_ACQUIRE) != batch)
        sched_yield();
}

/* The last one's addition acquires what the others released by theirs, and passes it on to the probe by `ended`. */
static void finish(struct counting *counting, uint32_t batch)
{
    if (__atomic_add_fetch(&counting->finished, 1, __ATOMIC_ACQ_REL) == (uint32_t)counting->contexts) {
        counting->end_ns = probe_now_ns();
        __atomic_store_n(&counting->ended, batch, __ATOMIC_RELEASE);
        futex_wake(&counting->ended, 1, 0);
    }
}

static void counter_body(struct probe_run *run, int index, void *shared)
{
    struct counting *counting = shared;
    (void)run;
    for (uint32_t batch = 1; wait_for_call(counting, batch); batch++) {
        if (way->hold)
            line_up(counting);
        else
            start_together(counting, batch);
        do_part(counting, index);
        finish(counting, batch);
    }
}

/* --- the probe ------------------------------------------------------------------------------------------------- */

static struct counting *counting_new(struct probe_run *run, int contexts, bool processes)
{
    struct counting *counting = probe_share(sizeof *counting);
    counting->contexts = contexts;
    counting->parts = probe_share((uint64_t)contexts * sizeof *counting->parts);
    counting->mechanism = way->create(run, contexts, processes);
    counting->counters = contexts_start(run, processes, 0, contexts, counter_body, counting);
    return counting;
}

static void call(struct counting *counting)
{
    __atomic_add_fetch(&counting->called, 1, __ATOMIC_RELEASE); /* pairs with the load in wait_for_call */
    futex_wake(&counting->called, INT_MAX, 0);
}

/* From its place in line to waiting for the lock it is a step for each; they are given the time for it. */
static void start_by_letting_go(struct counting *counting)
{
    while (__atomic_load_n(&counting->lined_up, __ATOMIC_ACQUIRE) != (uint32_t)counting->contexts)
        usleep(LINE_UP_US);
    usleep(LINE_UP_US + (uint32_t)counting->contexts);
    counting->start_ns = probe_now_ns();
    way->let_go(counting->mechanism, counting->contexts);
}

static void count_together(struct counting *counting, uint64_t operations)
{
    uint32_t before = counting->called;
    counting->operations = operations;
    counting->number = 0;
    counting->lined_up = counting->finished = 0;
    if (way->hold)
        way->hold(counting->mechanism, counting->contexts);
    call(counting);
    if (way->hold)
        start_by_letting_go(counting);
    while (__atomic_load_n(&counting->ended, __ATOMIC_ACQUIRE) == before)
        futex_wait(&counting->ended, before, 0);
}

static struct part sum_of_parts(const struct counting *counting)
{
    struct part sum = {0};
    for (int i = 0; i < counting->contexts; i++) {
        sum.owner_changes += counting->parts[i].owner_changes;
        sum.cpu_ns += counting->parts[i].cpu_ns;
        sum.voluntary += counting->parts[i].voluntary;
        sum.involuntary += counting->parts[i].involuntary;
    }
    return sum;
}

/* How many CPUs the contexts began and ended on. Unpinned, they may have shared one. */
static uint64_t cpus_used(const struct counting *counting)
{
    bool used[PROBE_MAX_CPUS] = {false};
    uint64_t cpus = 0;
    for (int i = 0; i < counting->contexts * 2; i++) {
        int cpu = counting->parts[i / 2].cpu[i % 2];
        if (cpu < PROBE_MAX_CPUS && !used[cpu]) {
            used[cpu] = true;
            cpus++;
        }
    }
    return cpus;
}

static void counting_end(struct probe_run *run, struct counting *counting)
{
    counting->over = true;
    call(counting);
    contexts_join(run, counting->counters);
    if (way->remove)
        way->remove(counting->mechanism);
}

static void counter_setup(struct probe_run *run)
{
    run->state = counting_new(run, (int)probe_integer(run, "contexts"), probe_is(run, "kind", "process"));
}

static inline void counter_batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct counting *counting = run->state;
    probe_start(value);
    count_together(counting, operations);
    probe_stop(value);
    struct part sum = sum_of_parts(counting);
    value->wall_ns = counting->end_ns - counting->start_ns;
    value->cpu_ns = sum.cpu_ns; /* of the contexts in the timed part; their user and system time is not read apart */
    value->has_user_system = false;
    value->voluntary = sum.voluntary;
    value->involuntary = sum.involuntary;
    probe_count(value, "checked", counting->number);
    probe_count(value, "owner_changes", sum.owner_changes);
    probe_count(value, "switches", sum.voluntary + sum.involuntary);
    probe_count(value, "cpus", cpus_used(counting));
}

static void counter_teardown(struct probe_run *run)
{
    counting_end(run, run->state);
}

/* --- selftest -------------------------------------------------------------------------------------------------- */

static void must_count(struct probe_run *run, int contexts, bool processes)
{
    const uint64_t operations = 1009;
    struct counting *counting = counting_new(run, contexts, processes);
    count_together(counting, operations);
    struct part sum = sum_of_parts(counting);
    if (counting->number != operations)
        probe_fail("%d contexts added %" PRIu64 " and the number is %" PRIu64, contexts, operations, counting->number);
    if (contexts == 1 && sum.owner_changes != 0)
        probe_fail("a single context changed the owner %" PRIu64 " times", sum.owner_changes);
    counting_end(run, counting);
}

static void counter_selftest(struct probe_run *run)
{
    must_count(run, 1, false);
    must_count(run, 4, false);
    must_count(run, 4, true);
}

/* --- the program ------------------------------------------------------------------------------------------------ */

/* Inline: a probe that includes held.h has a main of its own instead. */
static inline int counter_main(const struct way *this_way, int argc, char **argv)
{
    way = this_way;
    const struct probe probe = {
        .title = way->title,
        .question = way->question,
        .properties = way->properties,
        .operation = "one addition to the shared number by any of the contexts; wall time of all, without creation",
        .source = way->source,
        .statistic = "median",
        .placements = "same,free",
        .uses = way->uses,
        .family = "counter",
        .metrics = (const struct probe_metric[]){
            {"increment", "s", "lower", "wall", "operations", "time of an addition, from common start to last end"},
            {"increment_cpu", "s", "lower", "cpu", "operations", "CPU time of an addition, of all contexts"},
            {"changed_fraction", "1", "neither", "owner_changes", "operations",
             "share of the additions by another context than the one before"},
            {"switched_fraction", "1", "neither", "switches", "operations", "switches of the kernel for each addition"},
            {0}},
        .params = (const struct probe_param[]){
            {.name = "contexts", .doc = "contexts that count together", .unit = "1", .sweep = "1,2,3,4,5",
             .brief = "5", .min = 1, .max = 1024},
            {.name = "kind", .doc = "what a context is", .choices = "process,thread", .sweep = "process,thread",
             .brief = "process"},
            way->param,
            {0}},
        .setup = counter_setup,
        .batch = counter_batch,
        .teardown = counter_teardown,
        .selftest = counter_selftest,
    };
    return probe_main(&probe, argc, argv);
}

#endif
