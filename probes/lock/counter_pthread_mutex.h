/* SPDX-License-Identifier: Apache-2.0
 * counter_pthread_mutex.h - an addition under a pthread mutex; the kinds of mutex differ in one attribute. */
#ifndef STEELYARD_LOCK_COUNTER_PTHREAD_MUTEX_H
#define STEELYARD_LOCK_COUNTER_PTHREAD_MUTEX_H

#include "counter_lock.h"

#include <pthread.h>
#include <string.h>

struct mechanism {
    _Alignas(PROBE_CACHE_LINE) pthread_mutex_t mutex;
};

/* What the probe supplies: its kind of mutex, as an error number, and what is missing where there is no such mutex. */
static int choose_kind(pthread_mutexattr_t *attributes);
static const char *const missing;

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism);
    pthread_mutexattr_t attributes;
    (void)run, (void)contexts;
    pthread_mutexattr_init(&attributes);
    if (processes && pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0)
        probe_skip("no mutex between processes");
    int error = choose_kind(&attributes);
    if (!error)
        error = pthread_mutex_init(&mechanism->mutex, &attributes);
    if (error)
        probe_skip("no %s: %s", missing, strerror(error));
    return mechanism;
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    int error = pthread_mutex_lock(&mechanism->mutex);
    if (error)
        probe_fail("context %d did not get the mutex: %s", index, strerror(error));
}

static inline void release(struct mechanism *mechanism, int index)
{
    (void)index;
    pthread_mutex_unlock(&mechanism->mutex);
}

static const struct way way = {.create = create, .hold = acquire, .let_go = release};

#endif
