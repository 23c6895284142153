/* SPDX-License-Identifier: Apache-2.0
 * counter_pthread_mutex.h - an addition under a pthread mutex; the kinds of mutex differ in one attribute. */
#ifndef STEELYARD_LOCK_COUNTER_PTHREAD_MUTEX_H
#define STEELYARD_LOCK_COUNTER_PTHREAD_MUTEX_H

#include "counter.h"

#include <pthread.h>
#include <string.h>

struct mechanism {
    _Alignas(PROBE_CACHE_LINE) pthread_mutex_t mutex;
};

/* `set` gives the attributes the one that makes the kind; `kind` says what is missing where there is no such mutex. */
static struct mechanism *mutex_new(bool processes, int (*set)(pthread_mutexattr_t *attributes, int value), int value,
                                   const char *kind)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (processes && pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0)
        probe_skip("no mutex between processes");
    int error = set(&attributes, value);
    if (!error)
        error = pthread_mutex_init(&mechanism->mutex, &attributes);
    if (error)
        probe_skip("no %s: %s", kind, strerror(error));
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

COUNTER_UNDER_LOCK(acquire, release)

#endif
