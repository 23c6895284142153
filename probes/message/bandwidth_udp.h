/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_udp.h - two UDP sockets on loopback that know each other; what is said between them is each way's own. */
#ifndef STEELYARD_MESSAGE_BANDWIDTH_UDP_H
#define STEELYARD_MESSAGE_BANDWIDTH_UDP_H

#include "bandwidth.h"
#include "sockets.h"

#include <sys/time.h>

#define UDP_SIZES "1024,2048,4096,8192,16384,32768,65507"

static void udp_patience(int fd, struct timeval patience)
{
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
        probe_fail("cannot set SO_RCVTIMEO: %s", strerror(errno));
}

static inline void udp_send(int fd, const void *data, uint64_t bytes)
{
    if (send(fd, data, bytes, 0) != (ssize_t)bytes)
        probe_fail("cannot send: %s", strerror(errno));
}

#endif
