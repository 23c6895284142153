/* SPDX-License-Identifier: Apache-2.0
 * held_mcs - the lock of counter_mcs.c, held for a while and left alone for a while.
 *
 * Known answer, limits, source: as there; what holding and thinking add stands in held.h.
 * Assembly: hold_up contains lock cmpxchg|cas|ldaxr|<__aarch64_cas8 */
#include "held.h"

#include "counter_mcs.c"
