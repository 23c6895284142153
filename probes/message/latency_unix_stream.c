/* SPDX-License-Identifier: Apache-2.0
 * latency_unix_stream - a message goes to and fro through one connected UNIX stream socket.
 *
 * Known answer: the message comes back byte for byte; a bare loop of the same write() and read() takes the same time.
 * On one CPU between two and three switches a round trip: the one who waits for an answer is also woken when its own
 * message is taken, finds nothing and sleeps again. Packets and datagrams do not do that.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: SO_SNDBUF is the default, net.core.wmem_default, more than any message here. On two CPUs the time is mostly
 * that of waking an idle CPU.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Source: lat_unix of lmbench (McVoy & Staelin, USENIX 1996); Steelyard's first seed 001. */
#include "latency_descriptors.h"

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    (void)run, (void)size;
    return channel_between(unix_connection(SOCK_STREAM));
}

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "UNIX stream socket",
        .question = "How long does a message take through a UNIX stream socket, there and back?",
        .source = "lmbench lat_unix (McVoy & Staelin 1996)",
        .properties = "boundaries=no,readers=one,when full=sender waits,other side gone=told,hosts=this one",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
