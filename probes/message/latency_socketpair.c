/* SPDX-License-Identifier: Apache-2.0
 * latency_socketpair - a message goes to and fro through a pair of UNIX stream sockets.
 *
 * Known answer: the message comes back byte for byte; the switches are those of message/latency_unix_stream, two to
 * three a round trip on one CPU.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: once connected, nothing tells a pair from sockets that found each other by name: message/latency_unix_stream
 * should come to the same.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Source: lat_unix of lmbench (McVoy & Staelin, USENIX 1996), which makes its sockets by this call. */
#include "latency_descriptors.h"

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    int end[2];
    (void)run, (void)size;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0)
        probe_skip("no pair of UNIX sockets: %s", strerror(errno));
    return channel_of(end[0], end[0], end[1], end[1]);
}

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "UNIX socket pair",
        .question = "How long does a message take through a pair of UNIX stream sockets, there and back?",
        .source = "lmbench lat_unix (McVoy & Staelin 1996)",
        .properties = "boundaries=no,readers=one,when full=sender waits,other side gone=told,hosts=this one",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
