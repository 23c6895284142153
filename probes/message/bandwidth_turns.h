/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_turns.h - a single producer and a single consumer that count in shared memory, and sleep by futex only when
 * there is nothing to do for them.
 *
 * Each side writes its own counter and reads the other's. Who has to wait says until which count, so that the other one
 * wakes it once and not after each message: the sender of a full ring is woken when half of it is free. Where they can
 * be on two CPUs, a side first looks for about as long as a wake-up takes; on one that would only keep the other from
 * running. */
#ifndef STEELYARD_MESSAGE_BANDWIDTH_TURNS_H
#define STEELYARD_MESSAGE_BANDWIDTH_TURNS_H

#include "contexts.h"

#define LOOKS_ACROSS_CPUS 2000

/* One side. */
struct turns {
    _Alignas(PROBE_CACHE_LINE) uint64_t count; /* messages that this side is through with */
    uint64_t seen;                             /* what it last saw of the other's count */
    _Alignas(PROBE_CACHE_LINE) uint32_t sleeps; /* futex; cleared by the one who wakes it */
    uint64_t until;                             /* the other's count that it sleeps for */
};

struct turns_rule {
    int looks, scope;
};

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* `sleeps` is stored before the count is read, and by the other side the count before `sleeps` is read: one of the two
 * sees what the other did. */
static __attribute__((noinline)) void turns_sleep(struct turns *own, const struct turns *other, uint64_t until,
                                                  int scope)
{
    own->until = until;
    do {
        __atomic_store_n(&own->sleeps, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&other->count, __ATOMIC_SEQ_CST) >= until)
            break;
        futex_wait(&own->sleeps, 1, scope);
    } while (__atomic_load_n(&other->count, __ATOMIC_ACQUIRE) < until);
    __atomic_store_n(&own->sleeps, 0, __ATOMIC_RELAXED);
}

/* Wait until the other side has counted to `enough`; who has to sleep for it, sleeps until `until`. */
static inline void turns_await(struct turns *own, const struct turns *other, uint64_t enough, uint64_t until,
                               const struct turns_rule *rule)
{
    if (own->seen >= enough)
        return;
    own->seen = __atomic_load_n(&other->count, __ATOMIC_ACQUIRE);
    for (int looks = 0; own->seen < enough && looks < rule->looks; looks++) {
        pause_briefly();
        own->seen = __atomic_load_n(&other->count, __ATOMIC_ACQUIRE);
    }
    if (own->seen >= enough)
        return;
    turns_sleep(own, other, until, rule->scope);
    own->seen = __atomic_load_n(&other->count, __ATOMIC_ACQUIRE);
}

/* Count up to `count`, and wake the other side if that is what it sleeps for. */
static inline void turns_pass_to(struct turns *own, struct turns *other, uint64_t count, const struct turns_rule *rule)
{
    __atomic_store_n(&own->count, count, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&other->sleeps, __ATOMIC_SEQ_CST) && count >= other->until) {
        __atomic_store_n(&other->sleeps, 0, __ATOMIC_RELAXED);
        futex_wake(&other->sleeps, 1, rule->scope);
    }
}

static inline void turns_pass(struct turns *own, struct turns *other, const struct turns_rule *rule)
{
    turns_pass_to(own, other, own->count + 1, rule);
}

static struct turns_rule turns_rule_of(const struct probe_run *run)
{
    return (struct turns_rule){contexts_may_be_apart(run) ? LOOKS_ACROSS_CPUS : 0,
                               futex_scope(probe_is(run, "kind", "process"))};
}

#endif
