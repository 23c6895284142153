/* SPDX-License-Identifier: Apache-2.0
 * descriptors.h - the limit of open files, raised to what a probe needs. */
#ifndef STEELYARD_DESCRIPTORS_H
#define STEELYARD_DESCRIPTORS_H

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "probe.h"

#define DESCRIPTORS_RESERVE 64 /* for everything else */

/* Ends the probe with the reason and the command where so many may not be open at once. */
static inline void descriptors_allow(uint64_t count)
{
    struct rlimit limit;
    const rlim_t wanted = (rlim_t)count + DESCRIPTORS_RESERVE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        probe_fail("cannot read the limit of open files: %s", strerror(errno));
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < wanted)
        probe_skip("%" PRIu64 " descriptors need a limit of %" PRIu64 " open files, and it is %" PRIu64
                   "; as root: ulimit -Hn %" PRIu64, count, (uint64_t)wanted, (uint64_t)limit.rlim_max, (uint64_t)wanted);
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            probe_skip("the limit of open files cannot be set to %" PRIu64 ": %s", (uint64_t)wanted, strerror(errno));
    }
}

#endif
