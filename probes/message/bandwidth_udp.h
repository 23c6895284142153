/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_udp.h - two UDP sockets on loopback that know each other; what is said between them is each way's own. */
#ifndef STEELYARD_MESSAGE_BANDWIDTH_UDP_H
#define STEELYARD_MESSAGE_BANDWIDTH_UDP_H

#include "bandwidth.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#define UDP_LARGEST 65507 /* what a 16 bit length leaves to the payload; the MTU has no say in it */
#define UDP_SIZES "1024,2048,4096,8192,16384,32768,65507"

/* Port 0: any that is free. */
static int udp_socket(struct sockaddr_in *address)
{
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &(socklen_t){sizeof *address}) != 0)
        probe_skip("no UDP over loopback: %s", strerror(errno));
    return fd;
}

static void udp_pair(int *receiving, int *sending)
{
    struct sockaddr_in receiver_address, sender_address;
    *receiving = udp_socket(&receiver_address);
    *sending = udp_socket(&sender_address);
    if (connect(*receiving, (struct sockaddr *)&sender_address, sizeof sender_address) != 0 ||
        connect(*sending, (struct sockaddr *)&receiver_address, sizeof receiver_address) != 0)
        probe_skip("no UDP over loopback: %s", strerror(errno));
}

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
