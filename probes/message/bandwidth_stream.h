/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_stream.h - for ways that are two file descriptors and a stream of bytes between them, without borders. */
#ifndef STEELYARD_MESSAGE_BANDWIDTH_STREAM_H
#define STEELYARD_MESSAGE_BANDWIDTH_STREAM_H

#include "bandwidth.h"

struct channel {
    int receiving, sending;
};

static struct channel *stream_new(int receiving, int sending)
{
    struct channel *channel = probe_share(sizeof *channel);
    *channel = (struct channel){receiving, sending};
    return channel;
}

static inline struct channel *stream_of_pipe(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        probe_skip("no pipe: %s", strerror(errno));
    return stream_new(ends[0], ends[1]);
}

static inline uint64_t stream_receive(struct channel *channel, const struct buffer *in, uint64_t number, uint64_t left)
{
    unsigned char *message = buffer_place(in, number);
    uint64_t got = 0;
    (void)left;
    while (got < in->size) {
        ssize_t bytes = read(channel->receiving, message + got, in->size - got);
        if (bytes <= 0)
            probe_fail("cannot receive: %s", bytes ? strerror(errno) : "the other end is closed");
        got += (uint64_t)bytes;
    }
    return got;
}

static inline void stream_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    if (write(channel->sending, buffer_place(out, number), out->size) != (ssize_t)out->size)
        probe_fail("cannot send: %s", strerror(errno));
}

#endif
