/* SPDX-License-Identifier: Apache-2.0
 * latency_udp - a message goes to and fro as one UDP datagram over loopback.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: at most 65507 bytes, what the 16-bit length of IPv4 leaves; above the MTU of loopback, 64 KiB, none are cut.
 * Nothing is sent again: a datagram that the kernel drops ends the run at its deadline, and one at a time none is.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Source: lat_udp of lmbench (McVoy & Staelin, USENIX 1996); Steelyard's first seed 001. */
#include "latency_descriptors.h"

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    (void)run;
    if (size > UDP_LARGEST)
        probe_skip("a UDP datagram has at most %d bytes, and %llu were asked for", UDP_LARGEST,
                   (unsigned long long)size);
    return channel_between(udp_pair());
}

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "UDP",
        .question = "How long does a message take as a UDP datagram over loopback, there and back?",
        .source = "lmbench lat_udp (McVoy & Staelin 1996)",
        .properties = "boundaries=yes,readers=one,when full=message is lost,other side gone=not told,hosts=any",
        .placements = "same,cross,free", .uses = "cpu,sched,net",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
