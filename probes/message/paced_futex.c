/* SPDX-License-Identifier: Apache-2.0
 * paced_futex - requests at a rate over what latency_futex.c measures one after the other.
 *
 * Known answer, limits, source: as there; what a rate adds stands in paced.h.
 * Assembly: paced_requests contains call\s+\*|blr */
#include "paced.h"

#include "latency_futex.c"
