/* SPDX-License-Identifier: Apache-2.0
 * held_flock - the lock of counter_flock.c, held for a while and left alone for a while.
 *
 * Known answer, limits, source: as there; what holding and thinking add stands in held.h.
 * Assembly: hold_up contains (call|bl).*<flock */
#define HELD_READS to_read
#include "held.h"

static inline void to_read(struct mechanism *mechanism, int index);

#include "counter_flock.c"

static inline void to_read(struct mechanism *mechanism, int index)
{
    if (flock(mechanism->opening[index], LOCK_SH) != 0)
        probe_fail("context %d did not get the lock: %s", index, strerror(errno));
}
