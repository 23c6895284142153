/* SPDX-License-Identifier: Apache-2.0
 * held_ticket - the lock of counter_ticket.c, held for a while and left alone for a while.
 *
 * Known answer, limits, source: as there; what holding and thinking add stands in held.h.
 * Assembly: hold_up contains lock xadd|ldadd|ldaxr|<__aarch64_ldadd4 */
#include "held.h"

#include "counter_ticket.c"
