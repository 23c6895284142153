/* SPDX-License-Identifier: Apache-2.0
 * paced_posix_mq - requests at a rate over what latency_posix_mq.c measures one after the other.
 *
 * Known answer, limits, source: as there; what a rate adds stands in paced.h.
 * Assembly: paced_requests contains call\s+\*|blr */
#include "paced.h"

#include "latency_posix_mq.c"
