/* SPDX-License-Identifier: Apache-2.0
 * held_futex - the lock of counter_futex.c, held for a while and left alone for a while.
 *
 * Known answer, limits, source: as there; what holding and thinking add stands in held.h.
 * Assembly: hold_up contains lock cmpxchg|cas|ldaxr|<__aarch64_cas4 */
#include "held.h"

#include "counter_futex.c"
