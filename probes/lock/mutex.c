/* SPDX-License-Identifier: Apache-2.0
 * mutex - one pthread mutex that 1 to 65536 contexts take and release in a loop.
 *
 * The C library's mutex is not fair: whoever releases it wakes a waiter and has taken it again before that one runs.
 * So on one CPU this measures an uncontended pair, and changed_fraction says so; lock/handoff must change its owner.
 *
 * Known answer: one context never changes the owner; the guarded number equals the sum of the contexts' own counts.
 * Overhead: counting in the lock, 1 to 2 ns a pair; the timekeeper wakes two or three times a batch.
 * Limits: on several CPUs the figure holds the way that the line with the lock travels between caches. A batch may hold
 * few time slices, and then the owners are few.
 * Assembly: contend contains (call|bl).*<pthread_mutex_lock
 * Source: t_lock.c of shell909090/context (2014); the incr_pxmutex programs of Stevens, UNIX Network Programming vol. 2
 * (2nd ed., 1999), appendix A, which check the final count. */
#include "contend.h"

#include <pthread.h>

struct lock {
    _Alignas(PROBE_CACHE_LINE) pthread_mutex_t mutex;
};

static struct lock *lock_new(int contexts, bool processes)
{
    struct lock *lock = probe_share(sizeof *lock);
    pthread_mutexattr_t attributes;
    (void)contexts;
    pthread_mutexattr_init(&attributes);
    if (processes && pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0)
        probe_skip("no mutex between processes");
    if (pthread_mutex_init(&lock->mutex, &attributes) != 0)
        probe_fail("no mutex");
    return lock;
}

/* A mutex has no line that contexts join and leave. */
static inline void no_line(struct lock *lock, int index)
{
    (void)lock, (void)index;
}

static inline void lock_acquire(struct lock *lock, int index)
{
    (void)index;
    pthread_mutex_lock(&lock->mutex);
}

static inline void lock_release(struct lock *lock, int index)
{
    (void)index;
    pthread_mutex_unlock(&lock->mutex);
}

CONTEST(lock_new, no_line, lock_acquire, lock_release, no_line)

static const struct probe mutex_probe = {
    .title = "mutex that many take",
    .question = "What does a mutex cost that many contexts take, and how often does its owner change?",
    .source = "shell909090/context t_lock.c (2014); Stevens, UNIX Network Programming vol. 2 (1999), appendix A",
    CONTEST_DESCRIPTION,
};

int main(int argc, char **argv)
{
    return probe_main(&mutex_probe, argc, argv);
}
