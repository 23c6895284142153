/* SPDX-License-Identifier: Apache-2.0
 * paced_tcp - requests at a rate over what latency_tcp.c measures one after the other.
 *
 * Known answer, limits, source: as there; what a rate adds stands in paced.h.
 * Assembly: paced_requests contains call\s+\*|blr */
#include "paced.h"

#include "latency_tcp.c"
