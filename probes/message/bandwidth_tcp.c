/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_tcp - one context writes messages to a TCP connection over loopback, another reads them.
 *
 * Known answer: each message arrives byte for byte.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: loopback has no wire, no loss and segments of 64 KiB. The buffers have their default sizes and the kernel's
 * own tuning (net.ipv4.tcp_wmem, tcp_rmem). TCP_NODELAY is set: the last piece of a batch would otherwise wait for an
 * acknowledgement, which the other side delays by up to 40 ms.
 * Assembly: send_messages contains (call|bl).*<write
 * Assembly: receive_messages contains (call|bl).*<read
 * Source: lmbench bw_tcp (McVoy & Staelin, USENIX 1996); Steelyard's first seed 001. */
#include "bandwidth_stream.h"
#include "sockets.h"

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct ends ends = tcp_connection();
    (void)run, (void)size;
    return stream_new(ends.called, ends.calling);
}

BANDWIDTH_TIMED(stream_send, nothing_to_finish, stream_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "TCP",
        .question = "How many bytes a second go through a TCP connection over loopback?",
        .source = "lmbench bw_tcp (McVoy & Staelin 1996)",
        .uses = "cpu,sched,ipc,net",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
