/* SPDX-License-Identifier: Apache-2.0
 * counter_lock.h - an addition under a lock: what most ways of lock/counter_* are.
 *
 * The probe supplies its lock for contexts number 0 to contexts-1 and for itself, who has number `contexts`. */
#ifndef STEELYARD_LOCK_COUNTER_LOCK_H
#define STEELYARD_LOCK_COUNTER_LOCK_H

#include "counter.h"

static inline void acquire(struct mechanism *mechanism, int index);
static inline void release(struct mechanism *mechanism, int index);

static inline uint64_t increment(struct mechanism *mechanism, int index, shared_number *number)
{
    acquire(mechanism, index);
    uint64_t before = add_one(number);
    release(mechanism, index);
    return before;
}

#endif
