/* SPDX-License-Identifier: Apache-2.0
 * counter_atomic - 1 to 1024 contexts add to one number in one atomic step each.
 *
 * No lock and no system call: the processor keeps the number's cache line for the length of one instruction. On several
 * CPUs the price is the line's way between their caches, and it is that of one line however many contexts want it.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's; no addition switches.
 * Overhead: the loop and the look at what was found, under 1 ns, mostly hidden behind the atomic instruction.
 * Limits: the seed threw the result away, for which x86 has the shorter `lock add`; it costs the same.
 * Assembly: count_up contains lock xadd|ldadd|ldaxr|<__aarch64_ldadd8
 * Source: section 5 of the seed (Linux IPC, 2014), which added __atomic_fetch_add to the incr programs of Stevens. */
#include "counter.h"

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    (void)run, (void)contexts, (void)processes;
    return NULL; /* the number is all there is */
}

static inline uint64_t increment(struct mechanism *mechanism, int index, shared_number *number)
{
    (void)mechanism, (void)index;
    return __atomic_fetch_add(number, 1, __ATOMIC_SEQ_CST);
}

COUNTER_WITHOUT_LOCK(increment)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "atomic addition",
        .question = "What does it cost that several contexts count together by an atomic addition?",
        .source = "a test of Linux IPC (yunweiku.com thread 16364, 2014), tables of section 5 and 6",
        .uses = "cpu,sched",
        .create = create, .count = count,
    }, argc, argv);
}
