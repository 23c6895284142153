/* SPDX-License-Identifier: Apache-2.0
 * counter_ticket - 1 to 1024 contexts add to one number, each addition under a ticket lock that spins.
 *
 * Fair: first come, first served, and nobody else. That is its weakness once there are more contexts than CPUs, for
 * the next in line may be the last to run. Therefore who waits gives the CPU away after SPIN_PAUSES pauses, and at once
 * where the contexts may use one CPU only; a pair is then a turn of all who yield. lock/handoff has a fair lock whose
 * waiters sleep.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's; from two contexts on nearly
 * every addition changes the owner.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: all who wait read one word, so that each release takes its line from all of them; counter_mcs does not.
 * Assembly: count_up contains lock xadd|ldadd|ldaxr|<__aarch64_ldadd4
 * Source: Mellor-Crummey & Scott, ACM TOCS 9(1), 1991, section 2.2. */
#include "counter.h"

struct mechanism {
    _Alignas(PROBE_CACHE_LINE) uint32_t next;    /* the next ticket to be drawn */
    _Alignas(PROBE_CACHE_LINE) uint32_t serving; /* the ticket whose turn it is; written by its holder alone */
    uint32_t pauses;
};

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism);
    (void)contexts, (void)processes;
    mechanism->pauses = spin_pauses(run);
    return mechanism;
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    (void)index;
    uint32_t ticket = __atomic_fetch_add(&mechanism->next, 1, __ATOMIC_RELAXED), turn = 0;
    while (__atomic_load_n(&mechanism->serving, __ATOMIC_ACQUIRE) != ticket)
        spin_turn(turn++, mechanism->pauses);
}

/* Nobody else writes what is read here. */
static inline void release(struct mechanism *mechanism, int index)
{
    (void)index;
    __atomic_store_n(&mechanism->serving, mechanism->serving + 1, __ATOMIC_RELEASE);
}

COUNTER_UNDER_LOCK(acquire, release)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "ticket lock",
        .question = "What does it cost that several contexts count together under a ticket lock that spins?",
        .source = "Mellor-Crummey & Scott, ACM TOCS 9(1), 1991",
        .properties = "fair=yes,readers=one by one,waiting=spins,owner dies=stays locked",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go,
    }, argc, argv);
}
