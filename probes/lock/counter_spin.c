/* SPDX-License-Identifier: Apache-2.0
 * counter_spin - 1 to 1024 contexts add to one number, each addition under a spin lock.
 *
 * Test and test-and-set: who finds it taken reads until it is free and only then tries again, so that the line is not
 * torn from its owner. After SPIN_PAUSES pauses the CPU is given away, and where the contexts may use one CPU only, at
 * once: the owner cannot go on as long as we spin. So this lock spins among few contexts and yields among many.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: not fair; on one CPU a context counts for whole time slices and the lock is hardly ever found taken.
 * Assembly: count_up contains \bxchg|swp|ldaxr|<__aarch64_swp
 * Source: beyond the seed (Linux IPC, 2014); Anderson, IEEE TPDS 1(1), 1990, for spinning on a read. */
#include "counter.h"

struct mechanism {
    _Alignas(PROBE_CACHE_LINE) uint32_t taken;
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
    uint32_t turn = 0;
    while (__atomic_exchange_n(&mechanism->taken, 1, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(&mechanism->taken, __ATOMIC_RELAXED))
            spin_turn(turn++, mechanism->pauses);
}

static inline void release(struct mechanism *mechanism, int index)
{
    (void)index;
    __atomic_store_n(&mechanism->taken, 0, __ATOMIC_RELEASE);
}

COUNTER_UNDER_LOCK(acquire, release)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "spin lock",
        .question = "What does it cost that several contexts count together under a spin lock?",
        .source = "Anderson, The performance of spin lock alternatives, IEEE TPDS 1(1), 1990",
        .properties = "fair=no,readers=one by one,waiting=spins,owner dies=stays locked",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go,
    }, argc, argv);
}
