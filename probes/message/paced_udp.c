/* SPDX-License-Identifier: Apache-2.0
 * paced_udp - requests at a rate over what latency_udp.c measures one after the other.
 *
 * Known answer, limits, source: as there; what a rate adds stands in paced.h.
 * Assembly: paced_requests contains call\s+\*|blr */
#include "paced.h"

#include "latency_udp.c"
