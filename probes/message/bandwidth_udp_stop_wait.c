/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_udp_stop_wait - one context sends a datagram over loopback and waits until it is acknowledged.
 *
 * That is how the seed measured "UDP bandwidth". It is a round trip, and its figure a latency in disguise: size divided
 * by the time of a round trip, growing with the size because the round trip hardly does. message/bandwidth_udp_window
 * keeps several datagrams on their way.
 *
 * Known answer: each message arrives byte for byte; on one CPU there are two switches a message.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: one datagram on its way can't be lost for want of room, so one that is missing for seconds fails the run.
 * Assembly: send_messages contains (call|bl).*<send
 * Assembly: receive_messages contains (call|bl).*<recv
 * Source: Steelyard's first seed 001, "UDP PUSH-ACK" (15 to 435 MB/s on Linux 3.12). */
#include "bandwidth_udp.h"

#define PATIENCE_S 10

struct channel {
    int receiving, sending;
};

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    (void)run, (void)size;
    struct ends ends = udp_pair();
    channel->receiving = ends.called;
    channel->sending = ends.calling;
    udp_patience(channel->sending, (struct timeval){.tv_sec = PATIENCE_S});
    return channel;
}

static inline void channel_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    uint64_t acknowledged;
    udp_send(channel->sending, buffer_place(out, number), out->size);
    if (recv(channel->sending, &acknowledged, sizeof acknowledged, 0) != sizeof acknowledged)
        probe_fail("no acknowledgement within %d s: %s", PATIENCE_S, strerror(errno));
    if (acknowledged != number)
        probe_fail("the wrong message was acknowledged");
}

static inline uint64_t channel_receive(struct channel *channel, const struct buffer *in, uint64_t number, uint64_t left)
{
    ssize_t bytes = recv(channel->receiving, buffer_place(in, number), in->size, 0);
    (void)left;
    if (bytes < 0)
        probe_fail("cannot receive: %s", strerror(errno));
    udp_send(channel->receiving, &number, sizeof number);
    return (uint64_t)bytes;
}

BANDWIDTH_TIMED(channel_send, nothing_to_finish, channel_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "UDP, each datagram acknowledged",
        .question = "How many bytes a second does UDP carry when each datagram waits for the last one's "
                    "acknowledgement?",
        .source = "Steelyard's first seed 001 (UDP PUSH-ACK, Linux 3.12)",
        .uses = "cpu,sched,ipc,net",
        .sizes = UDP_SIZES, .largest = UDP_LARGEST,
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
