/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_socketpair - one context writes messages to one end of a socketpair, another reads them from the other end.
 *
 * Known answer: each message arrives byte for byte. It is a UNIX stream that was never bound or connected by name:
 * message/bandwidth_unix_stream must come to the same figure, and a difference is one of the measurement.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: SO_SNDBUF is the default, net.core.wmem_default.
 * Assembly: send_messages contains (call|bl).*<write
 * Assembly: receive_messages contains (call|bl).*<read
 * Source: lmbench bw_unix (McVoy & Staelin, USENIX 1996), which makes its stream by socketpair(). */
#include "bandwidth_stream.h"

#include <sys/socket.h>

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    int ends[2];
    (void)run, (void)size;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        probe_skip("no pair of UNIX sockets: %s", strerror(errno));
    return stream_new(ends[0], ends[1]);
}

BANDWIDTH_TIMED(stream_send, nothing_to_finish, stream_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "UNIX socket pair",
        .question = "How many bytes a second go through a pair of UNIX stream sockets?",
        .source = "lmbench bw_unix (McVoy & Staelin 1996)",
        .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
