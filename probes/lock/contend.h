/* SPDX-License-Identifier: Apache-2.0
 * contend.h - contexts that do nothing but take and release one lock.
 *
 * All run from the first batch to the last; a batch is the time in which the lock was taken so many times by anyone.
 * In the lock they add to a plain number, which comes out right only if they exclude each other, and note whose turn it
 * was before: the seed took for a switch what was mostly one owner that took its lock again before any other woke. */
#ifndef STEELYARD_LOCK_CONTEND_H
#define STEELYARD_LOCK_CONTEND_H

#include "contexts.h"

#include <inttypes.h>

/* In shared memory, for contexts number 0 to contexts-1; what is in it is the probe's own matter. */
struct lock;

struct contest {
    int contexts;
    struct lock *lock;
    struct gate *gate;
    struct tally *tally; /* one a context; its `operations` are written in the lock */
    struct contexts *contenders;
    struct guarded {     /* shared; written by the owner of the lock alone */
        _Alignas(PROBE_CACHE_LINE) uint64_t pairs;
        volatile uint64_t owner_changes;
        volatile int owner;
    } *guarded;
};

/* Defines setup() of a lock. A context takes and releases it any number of times between JOIN and LEAVE, which are for
 * locks that have a waiting line. All join before the gate opens: the first to run would find no line, and the pilot a
 * lock that nobody waits for.
 *
 * contend() is the timed part, in which ACQUIRE and RELEASE are inlined. `pairs` is loaded, added to and stored, never
 * in one atomic step: two owners would lose a count. The releases pair with the loads of the timekeeper, who reads
 * without the lock. */
#define CONTEST(CREATE, JOIN, ACQUIRE, RELEASE, LEAVE) \
    static __attribute__((noinline)) void contend(const struct contest *contest, int index) \
    { \
        struct guarded *guarded = contest->guarded; \
        struct tally *mine = &contest->tally[index]; \
        while (!contest->gate->stop) { \
            ACQUIRE(contest->lock, index); \
            if (guarded->owner != index) { \
                guarded->owner = index; \
                guarded->owner_changes++; \
            } \
            __atomic_store_n(&guarded->pairs, guarded->pairs + 1, __ATOMIC_RELEASE); \
            __atomic_store_n(&mine->operations, mine->operations + 1, __ATOMIC_RELEASE); \
            RELEASE(contest->lock, index); \
        } \
    } \
    static void contender(struct probe_run *run, int index, void *shared) \
    { \
        const struct contest *contest = shared; \
        (void)run; \
        JOIN(contest->lock, index); \
        gate_pass(contest->gate); \
        contend(contest, index); \
        LEAVE(contest->lock, index); \
    } \
    static void setup(struct probe_run *run) \
    { \
        contest_setup(run, CREATE, contender); \
    }

static uint64_t pairs_done(const void *shared)
{
    const struct contest *contest = shared;
    return __atomic_load_n(&contest->guarded->pairs, __ATOMIC_ACQUIRE);
}

/* The plain number against the sum of what each context counted for itself. They go on meanwhile, so the sum lies
 * between two readings of the number, less the one pair whose owner has not yet come to its own count. */
static bool counts_agree(const struct contest *contest)
{
    uint64_t before = pairs_done(contest);
    uint64_t sum = tally_operations(contest->tally, contest->contexts);
    return sum + 1 >= before && sum <= pairs_done(contest);
}

static void contest_setup(struct probe_run *run, struct lock *(*create)(int contexts, bool processes),
                          context_body *contender)
{
    bool processes = probe_is(run, "kind", "process");
    struct contest *contest = run->state = probe_share(sizeof *contest);
    contest->contexts = (int)probe_integer(run, "contexts");
    contest->lock = create(contest->contexts, processes);
    contest->gate = probe_share(sizeof *contest->gate);
    contest->tally = probe_share((uint64_t)contest->contexts * sizeof *contest->tally);
    contest->guarded = probe_share(sizeof *contest->guarded);
    contest->contenders = contexts_start(run, processes, 0, contest->contexts, contender, contest);
    timekeeper_become();
    gate_open(contest->gate, contest->contexts);
    timekeeper_sleep(pairs_done, contest, (uint64_t)contest->contexts); /* while the first wakes all the others */
}

static void contest_batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct contest *contest = run->state;
    probe_start(value);
    uint64_t begin_ns = probe_now_ns(), pairs = pairs_done(contest), changes = contest->guarded->owner_changes;
    timekeeper_sleep(pairs_done, contest, pairs + operations);
    value->operations = pairs_done(contest) - pairs;
    changes = contest->guarded->owner_changes - changes;
    uint64_t wall_ns = probe_now_ns() - begin_ns;
    probe_stop(value);
    value->wall_ns = wall_ns; /* the bounds of the counts; probe_start and probe_stop also read the CPU clocks */
    probe_count(value, "checked", counts_agree(contest) ? value->operations : 0);
    probe_count(value, "owner_changes", changes);
}

/* Each ends after its pair and nobody holds the lock when it ends, so those who wait for it get it and end too. */
static void contest_teardown(struct probe_run *run)
{
    const struct contest *contest = run->state;
    contest->gate->stop = true;
    contexts_join(run, contest->contenders);
    uint64_t sum = tally_operations(contest->tally, contest->contexts);
    if (sum != contest->guarded->pairs)
        probe_fail("the contexts took the lock %" PRIu64 " times and the number it guards is %" PRIu64, sum,
                   contest->guarded->pairs);
}

/* The rest of the descriptor is the same for every lock. */
#define CONTEST_DESCRIPTION \
    .operation = "one acquisition and release by any of the contexts; wall time of all together", \
    .statistic = "median", .placements = "same,free", .uses = "cpu,sched", \
    .family = "pair", \
    .metrics = (const struct probe_metric[]){ \
        {"lock_pair", "s", "lower", "wall", "operations", "time from one acquisition to the next, whoever has it"}, \
        {"owner_change", "s", "lower", "wall", "owner_changes", "time from one change of the owner to the next"}, \
        {"changed_fraction", "1", "neither", "owner_changes", "operations", \
         "share of the acquisitions by another context than the one before"}, \
        {0}}, \
    .params = (const struct probe_param[]){ \
        {.name = "contexts", .doc = "contexts that take the lock", .unit = "1", .sweep = "1,2,8,64,1024", .brief = "1,2,64,1024", .min = 1, \
         .max = 65536}, \
        {.name = "kind", .doc = "what a context is", .choices = "thread,process", .sweep = "thread"}, \
        {0}}, \
    .setup = setup, .batch = contest_batch, .teardown = contest_teardown

#endif
