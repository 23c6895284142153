/* SPDX-License-Identifier: Apache-2.0
 * latency_udp - a message goes to and fro as one UDP datagram over loopback.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: two clock reads a batch, stamping and checking the message about 2 ns a round trip for each 4096 bytes.
 * Limits: at most 65507 bytes, what the 16-bit length of IPv4 leaves; above the MTU of loopback, 64 KiB, none are cut.
 * Nothing is sent again: a datagram that the kernel drops ends the run at its deadline, and one at a time none is.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Assembly: stamped_round_trips contains (call|bl).*<(read|write)
 * Source: lat_udp of lmbench (McVoy & Staelin, USENIX 1996); Steelyard's first seed 001. */
#include "latency_descriptors.h"

#include <netinet/in.h>

#define MAX_DATAGRAM 65507

/* Bound to any port that is free; `address` is then where it can be reached. */
static int udp_socket(struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &(socklen_t){sizeof *address}) != 0)
        probe_skip("no UDP over loopback: %s", strerror(errno));
    return fd;
}

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct sockaddr_in to_caller, to_partner;
    (void)run;
    if (size > MAX_DATAGRAM)
        probe_skip("a UDP datagram has at most %d bytes, and %llu were asked for", MAX_DATAGRAM,
                   (unsigned long long)size);
    int caller = udp_socket(&to_caller), partner_end = udp_socket(&to_partner);
    if (connect(caller, (struct sockaddr *)&to_partner, sizeof to_partner) != 0 ||
        connect(partner_end, (struct sockaddr *)&to_caller, sizeof to_caller) != 0)
        probe_skip("no UDP over loopback: %s", strerror(errno));
    return channel_of(caller, caller, partner_end, partner_end);
}

static const struct probe latency_udp = {
    .question = "How long does a message take as a UDP datagram over loopback, there and back?",
    .source = "lmbench lat_udp (McVoy & Staelin 1996)",
    LATENCY_DESCRIPTION("same,cross", "cpu,sched,net"),
};

int main(int argc, char **argv)
{
    return probe_main(&latency_udp, argc, argv);
}
