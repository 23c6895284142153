/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_packet.h - for UNIX sockets that keep the borders of messages and lose none. */
#ifndef STEELYARD_MESSAGE_BANDWIDTH_PACKET_H
#define STEELYARD_MESSAGE_BANDWIDTH_PACKET_H

#include "bandwidth.h"

#include <sys/socket.h>

#define SEND_BUFFER_RESERVE 32 /* bytes that the kernel keeps of a send buffer for itself (unix_dgram_sendmsg) */

struct channel {
    int receiving, sending;
};

/* A message must fit into the send buffer as a whole, whose default size is left as it is. */
static void require_send_buffer(int fd, uint64_t size)
{
    int bytes = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &(socklen_t){sizeof bytes}) != 0)
        probe_fail("cannot read SO_SNDBUF: %s", strerror(errno));
    if (size + SEND_BUFFER_RESERVE > (uint64_t)bytes)
        probe_skip("a message of %llu bytes does not fit into a socket's send buffer of %d; sysctl "
                   "net.core.wmem_default=%llu would allow it", (unsigned long long)size, bytes,
                   (unsigned long long)size + SEND_BUFFER_RESERVE);
}

static struct channel *packet_pair(int type, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    int ends[2];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0)
        probe_skip("no pair of UNIX sockets of this type: %s", strerror(errno));
    require_send_buffer(ends[1], size);
    *channel = (struct channel){ends[0], ends[1]};
    return channel;
}

static inline void channel_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    if (send(channel->sending, buffer_place(out, number), out->size, 0) != (ssize_t)out->size)
        probe_fail("cannot send: %s", strerror(errno));
}

static inline uint64_t channel_receive(struct channel *channel, const struct buffer *in, uint64_t number, uint64_t left)
{
    ssize_t bytes = recv(channel->receiving, buffer_place(in, number), in->size, 0);
    (void)left;
    if (bytes < 0)
        probe_fail("cannot receive: %s", strerror(errno));
    return (uint64_t)bytes;
}

BANDWIDTH_TIMED(channel_send, nothing_to_finish, channel_receive)

#endif
