/* SPDX-License-Identifier: Apache-2.0
 * held_rwlock - the lock of counter_rwlock.c, held for a while and left alone for a while.
 *
 * Known answer, limits, source: as there; what holding and thinking add stands in held.h.
 * Assembly: hold_up contains (call|bl).*<pthread_rwlock_rdlock */
#define HELD_READS to_read
#include "held.h"

#include <pthread.h>

static inline void to_read(struct mechanism *mechanism, int index);

#include "counter_rwlock.c"

static inline void to_read(struct mechanism *mechanism, int index)
{
    (void)index;
    pthread_rwlock_rdlock(&mechanism->lock);
}
