/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_unix_datagram - one context sends messages over a UNIX datagram socket, another receives them.
 *
 * Known answer: each message arrives byte for byte, with its length; none is lost.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: a message must fit into the send buffer, net.core.wmem_default, as a whole; and no more than
 * net.unix.max_dgram_qlen messages wait, 10 by default, however small.
 * Assembly: send_messages contains (call|bl).*<send
 * Assembly: receive_messages contains (call|bl).*<recv
 * Source: after lmbench bw_unix (McVoy & Staelin, USENIX 1996), which has streams only. */
#include "bandwidth_packet.h"

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    (void)run;
    return packet_pair(SOCK_DGRAM, size);
}

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "UNIX datagram socket",
        .question = "How many bytes a second go through a UNIX datagram socket?",
        .source = "after lmbench bw_unix (McVoy & Staelin 1996)",
        .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
