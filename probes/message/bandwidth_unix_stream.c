/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_unix_stream - one context writes messages to a connected UNIX stream socket, another reads them.
 *
 * Known answer: each message arrives byte for byte; a bare loop of the same write() and read() in two processes takes
 * the same time.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: SO_SNDBUF is the default, net.core.wmem_default, most often 212992 bytes, the kernel's own bookkeeping
 * included: more than a pipe holds, so fewer switches on one CPU.
 * Assembly: send_messages contains (call|bl).*<write
 * Assembly: receive_messages contains (call|bl).*<read
 * Source: lmbench bw_unix (McVoy & Staelin, USENIX 1996); Steelyard's first seed 001. */
#include "bandwidth_stream.h"
#include "sockets.h"

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct ends ends = unix_connection(SOCK_STREAM);
    (void)run, (void)size;
    return stream_new(ends.called, ends.calling);
}

BANDWIDTH_TIMED(stream_send, nothing_to_finish, stream_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "UNIX stream socket",
        .question = "How many bytes a second go through a UNIX stream socket?",
        .source = "lmbench bw_unix (McVoy & Staelin 1996)",
        .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
