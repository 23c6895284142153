/* SPDX-License-Identifier: Apache-2.0
 * counter_rwlock - 1 to 1024 contexts add to one number, each addition under the write lock of one pthread rwlock.
 *
 * Every context writes, so that nobody ever shares it and all that is special about the lock is in the way: this is its
 * price where it does not fit, not what it is made for.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: the C library's default kind, which prefers readers; there are none.
 * Assembly: count_up contains (call|bl).*<pthread_rwlock_wrlock
 * Source: incr_rwlock of Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), appendix A, on a lock of his own; on
 * pthread's in the seed (Linux IPC, 2014). */
#include "counter.h"

#include <pthread.h>

struct mechanism {
    _Alignas(PROBE_CACHE_LINE) pthread_rwlock_t lock;
};

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism);
    pthread_rwlockattr_t attributes;
    (void)run, (void)contexts;
    pthread_rwlockattr_init(&attributes);
    if (processes && pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0)
        probe_skip("no read-write lock between processes");
    if (pthread_rwlock_init(&mechanism->lock, &attributes) != 0)
        probe_fail("no read-write lock");
    return mechanism;
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    (void)index;
    pthread_rwlock_wrlock(&mechanism->lock);
}

static inline void release(struct mechanism *mechanism, int index)
{
    (void)index;
    pthread_rwlock_unlock(&mechanism->lock);
}

COUNTER_UNDER_LOCK(acquire, release)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
#ifdef HELD_READS
        .title = "read-write lock",
#else
        .title = "read-write lock, for writing",
#endif
        .question = "What does it cost that several contexts count together under the write lock of a read-write lock?",
        .source = "incr_rwlock of Stevens, UNIX Network Programming vol. 2 (1999); yunweiku.com thread 16364 (2014)",
        .properties = "fair=no,readers=together,waiting=sleeps,owner dies=stays locked",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go,
    }, argc, argv);
}
