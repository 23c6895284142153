/* SPDX-License-Identifier: Apache-2.0
 * counter_mcs - 1 to 1024 contexts add to one number, each addition under the queue lock of Mellor-Crummey and Scott.
 *
 * Fair like the ticket lock, but each waits on a word of its own, which only the one before it writes: a release moves
 * a line to one CPU. Who waits gives the CPU away after SPIN_PAUSES pauses, at once where the contexts may use one CPU
 * only, for the next in line may be the last to run.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's; from two contexts on nearly
 * every addition changes the owner.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: alone it is dearer than a ticket lock: two atomic steps instead of one. What it is made for, dozens of CPUs,
 * a small machine does not show.
 * Assembly: count_up contains lock cmpxchg|cas|ldaxr|<__aarch64_cas8
 * Source: Mellor-Crummey & Scott, ACM TOCS 9(1), 1991, algorithm 5. */
#include "counter.h"

/* A context's place in the queue, linked by addresses: contexts have the shared memory at the same place. */
struct place {
    _Alignas(PROBE_CACHE_LINE) struct place *next;
    uint32_t waiting;
};

struct mechanism {
    _Alignas(PROBE_CACHE_LINE) struct place *last;
    uint32_t pauses;
    struct place place[];
};

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism + ((uint64_t)contexts + 1) * sizeof *mechanism->place);
    (void)processes;
    mechanism->pauses = spin_pauses(run);
    return mechanism;
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    struct place *mine = &mechanism->place[index];
    uint32_t turn = 0;
    mine->next = NULL;
    struct place *before = __atomic_exchange_n(&mechanism->last, mine, __ATOMIC_ACQ_REL);
    if (!before)
        return;
    mine->waiting = 1; /* published by the store below */
    __atomic_store_n(&before->next, mine, __ATOMIC_RELEASE);
    while (__atomic_load_n(&mine->waiting, __ATOMIC_ACQUIRE))
        spin_turn(turn++, mechanism->pauses);
}

/* Who has put itself behind us but not yet linked itself is about to: that is waited for. */
static inline void release(struct mechanism *mechanism, int index)
{
    struct place *mine = &mechanism->place[index];
    uint32_t turn = 0;
    struct place *next, *last = mine;
    if (!__atomic_load_n(&mine->next, __ATOMIC_ACQUIRE) &&
        __atomic_compare_exchange_n(&mechanism->last, &last, NULL, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return;
    while (!(next = __atomic_load_n(&mine->next, __ATOMIC_ACQUIRE)))
        spin_turn(turn++, mechanism->pauses);
    __atomic_store_n(&next->waiting, 0, __ATOMIC_RELEASE);
}

COUNTER_UNDER_LOCK(acquire, release)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "MCS queue lock",
        .question = "What does it cost that several contexts count together under a queue lock that spins?",
        .source = "Mellor-Crummey & Scott, ACM TOCS 9(1), 1991",
        .properties = "fair=yes,readers=one by one,waiting=spins,owner dies=stays locked",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go,
    }, argc, argv);
}
