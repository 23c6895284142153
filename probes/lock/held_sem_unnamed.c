/* SPDX-License-Identifier: Apache-2.0
 * held_sem_unnamed - the lock of counter_sem_unnamed.c, held for a while and left alone for a while.
 *
 * Known answer, limits, source: as there; what holding and thinking add stands in held.h.
 * Assembly: hold_up contains (call|bl).*<sem_wait */
#include "held.h"

#include "counter_sem_unnamed.c"
