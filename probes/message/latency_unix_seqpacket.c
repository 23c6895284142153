/* SPDX-License-Identifier: Apache-2.0
 * latency_unix_seqpacket - a message goes to and fro as one packet of a connected UNIX socket.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: a packet must fit into SO_SNDBUF, by default net.core.wmem_default, which is more than any message here
 * unless somebody made it smaller.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Source: unix(7); beside message/latency_unix_stream it is what keeping the bounds of messages costs. */
#include "latency_descriptors.h"

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    (void)run, (void)size;
    return channel_between(unix_connection(SOCK_SEQPACKET));
}

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "UNIX packet socket",
        .question = "How long does a message take through a UNIX seqpacket socket, there and back?",
        .source = "unix(7), SOCK_SEQPACKET",
        .properties = "boundaries=yes,readers=one,when full=sender waits,other side gone=told,hosts=this one",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
