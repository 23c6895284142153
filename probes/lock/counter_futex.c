/* SPDX-License-Identifier: Apache-2.0
 * counter_futex - 1 to 1024 contexts add to one number, each addition under a mutex of one word, made by hand.
 *
 * The third mutex of Drepper's "Futexes Are Tricky": free, taken, or taken while somebody may sleep. Free, it costs one
 * atomic step each way; only who gives back the third state makes a system call. It is what the C library's mutex does
 * without its kinds, its owner and its calls: the difference to counter_mutex is their price.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: knows no owner, so that anybody could unlock it, and nobody notices a death.
 * Assembly: count_up contains lock cmpxchg|cas|ldaxr|<__aarch64_cas4
 * Source: U. Drepper, Futexes Are Tricky (2004, rev. 2011), section 6, "Mutex, Take 3". */
#include "counter.h"

enum { FREE, TAKEN, WAITED_FOR };

struct mechanism {
    _Alignas(PROBE_CACHE_LINE) uint32_t word;
    int scope;
};

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism);
    (void)run, (void)contexts;
    mechanism->scope = futex_scope(processes);
    return mechanism;
}

/* Who has slept cannot know whether others still do, and so takes the lock as one that is waited for: at worst the last
 * of them wakes nobody. */
static __attribute__((noinline)) void wait_and_acquire(struct mechanism *mechanism, uint32_t seen)
{
    if (seen != WAITED_FOR)
        seen = __atomic_exchange_n(&mechanism->word, WAITED_FOR, __ATOMIC_ACQUIRE);
    while (seen != FREE) {
        futex_wait(&mechanism->word, WAITED_FOR, mechanism->scope);
        seen = __atomic_exchange_n(&mechanism->word, WAITED_FOR, __ATOMIC_ACQUIRE);
    }
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    (void)index;
    uint32_t seen = FREE;
    if (!__atomic_compare_exchange_n(&mechanism->word, &seen, TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        wait_and_acquire(mechanism, seen);
}

static inline void release(struct mechanism *mechanism, int index)
{
    (void)index;
    if (__atomic_exchange_n(&mechanism->word, FREE, __ATOMIC_RELEASE) == WAITED_FOR)
        futex_wake(&mechanism->word, 1, mechanism->scope);
}

COUNTER_UNDER_LOCK(acquire, release)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "futex, by hand",
        .question = "What does it cost that several contexts count together under a mutex made of one futex?",
        .source = "U. Drepper, Futexes Are Tricky (2004, rev. 2011), section 6: the third mutex",
        .properties = "fair=no,readers=one by one,waiting=sleeps,owner dies=stays locked",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go,
    }, argc, argv);
}
