/* SPDX-License-Identifier: Apache-2.0
 * counter_mutex - 1 to 1024 contexts add to one number, each addition under one pthread mutex.
 *
 * Free, the mutex is taken and given back by an atomic step each and no system call. Held, it sends the loser to sleep,
 * and whoever gives it back wakes one of them and has mostly taken it again before that one runs. So with more contexts
 * it gets dearer by the system calls of those who wait, while hardly any addition changes the owner; switched_fraction
 * and changed_fraction say how many did.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: between processes it is a shared futex, between threads a private one, which only differ where they wait.
 * Assembly: count_up contains (call|bl).*<pthread_mutex_lock
 * Source: incr_pxmutex1 (threads) and incr_pxmutex5 (processes) of Stevens, UNIX Network Programming vol. 2 (2nd ed.,
 * 1999), appendix A, by way of the seed (Linux IPC, 2014). */
#include "counter_lock.h"

#include <pthread.h>

struct mechanism {
    _Alignas(PROBE_CACHE_LINE) pthread_mutex_t mutex;
};

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism);
    pthread_mutexattr_t attributes;
    (void)run, (void)contexts;
    pthread_mutexattr_init(&attributes);
    if (processes && pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0)
        probe_skip("no mutex between processes");
    if (pthread_mutex_init(&mechanism->mutex, &attributes) != 0)
        probe_fail("no mutex");
    return mechanism;
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    (void)index;
    pthread_mutex_lock(&mechanism->mutex);
}

static inline void release(struct mechanism *mechanism, int index)
{
    (void)index;
    pthread_mutex_unlock(&mechanism->mutex);
}

static const struct way way = {.create = create, .hold = acquire, .let_go = release};

static const struct probe counter_mutex_probe = {
    .question = "What does it cost that several contexts count together under a mutex?",
    .source = "incr_pxmutex of Stevens, UNIX Network Programming vol. 2 (1999); yunweiku.com thread 16364 (2014)",
    .uses = "cpu,sched",
    .params = (const struct probe_param[]){COUNTER_PARAMS, {0}},
    COUNTER_DESCRIPTION,
};

int main(int argc, char **argv)
{
    return probe_main(&counter_mutex_probe, argc, argv);
}
