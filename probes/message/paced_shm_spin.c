/* SPDX-License-Identifier: Apache-2.0
 * paced_shm_spin - requests at a rate over what latency_shm_spin.c measures one after the other.
 *
 * Known answer, limits, source: as there; what a rate adds stands in paced.h.
 * Assembly: paced_requests contains call\s+\*|blr */
#include "paced.h"

#include "latency_shm_spin.c"
