/* SPDX-License-Identifier: Apache-2.0
 * latency_tcp - a message goes to and fro through one TCP connection over loopback.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: loopback has no wire and no loss. TCP_NODELAY is set, as request and response would be sent; without it
 * nothing would wait here either, as no data are unacknowledged when the next message is sent.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Source: lat_tcp of lmbench (McVoy & Staelin, USENIX 1996); Steelyard's first seed 001. */
#include "latency_descriptors.h"

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    (void)run, (void)size;
    return channel_between(tcp_connection());
}

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "TCP",
        .question = "How long does a message take through a TCP connection over loopback, there and back?",
        .source = "lmbench lat_tcp (McVoy & Staelin 1996)",
        .properties = "boundaries=no,readers=one,when full=sender waits,other side gone=told,hosts=any",
        .placements = "same,cross,free", .uses = "cpu,sched,net",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
