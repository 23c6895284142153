/* SPDX-License-Identifier: Apache-2.0
 * held_mutex - the lock of counter_mutex.c, held for a while and left alone for a while.
 *
 * Known answer, limits, source: as there; what holding and thinking add stands in held.h.
 * Assembly: hold_up contains (call|bl).*<pthread_mutex_lock */
#include "held.h"

#include "counter_mutex.c"
