/* SPDX-License-Identifier: Apache-2.0
 * held_spin - the lock of counter_spin.c, held for a while and left alone for a while.
 *
 * Known answer, limits, source: as there; what holding and thinking add stands in held.h.
 * Assembly: hold_up contains \bxchg|swp|ldaxr|<__aarch64_swp */
#include "held.h"

#include "counter_spin.c"
