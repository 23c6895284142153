/* SPDX-License-Identifier: Apache-2.0
 * latency_descriptors.h - channels that are file descriptors: pipes and sockets, by write() and read(). */
#ifndef STEELYARD_MESSAGE_LATENCY_DESCRIPTORS_H
#define STEELYARD_MESSAGE_LATENCY_DESCRIPTORS_H

#include "latency.h"
#include "sockets.h"

/* Each party's own; for a socket both are the same. */
struct channel {
    int out[2], in[2];
};

static struct channel *channel_of(int caller_out, int caller_in, int partner_out, int partner_in)
{
    struct channel *channel = probe_share(sizeof *channel);
    *channel = (struct channel){{caller_out, partner_out}, {caller_in, partner_in}};
    return channel;
}

static inline struct channel *channel_between(struct ends ends)
{
    return channel_of(ends.calling, ends.calling, ends.called, ends.called);
}

static inline void channel_send(struct channel *channel, enum party from, unsigned char *message, uint64_t size)
{
    ssize_t sent = write(channel->out[from], message, size);
    if (sent < 0 && errno == EMSGSIZE)
        probe_skip("a message of %llu bytes does not fit into a socket; a larger sysctl net.core.wmem_default would "
                   "allow it", (unsigned long long)size);
    if (sent < 0)
        probe_fail("cannot send: %s", strerror(errno));
    if ((uint64_t)sent != size)
        probe_fail("%zd of %llu bytes could be sent", sent, (unsigned long long)size);
}

/* A stream may bring a message in pieces. */
static inline uint64_t channel_receive(struct channel *channel, enum party to, unsigned char *message, uint64_t size)
{
    uint64_t bytes = 0;
    do {
        ssize_t piece = read(channel->in[to], message + bytes, size - bytes);
        if (piece <= 0)
            probe_fail("cannot receive: %s", piece ? strerror(errno) : "the other side is gone");
        bytes += (uint64_t)piece;
    } while (bytes < size);
    return bytes;
}

LATENCY_TIMED(channel_send, channel_receive)

#endif
