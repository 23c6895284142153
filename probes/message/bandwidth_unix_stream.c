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

#include <sys/socket.h>
#include <sys/un.h>

static int unix_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        probe_skip("no UNIX socket: %s", strerror(errno));
    return fd;
}

/* Bound without a name, a socket gets an abstract one that is free: no file that could be left behind. */
static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    int listener = unix_socket(), sending = unix_socket(), receiving;
    (void)run, (void)size;
    if (bind(listener, (struct sockaddr *)&address, sizeof address.sun_family) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        connect(sending, (struct sockaddr *)&address, length) != 0 || (receiving = accept(listener, NULL, NULL)) < 0)
        probe_skip("no UNIX connection: %s", strerror(errno));
    close(listener);
    return stream_new(receiving, sending);
}

static const struct probe bandwidth_unix_stream = {
    .question = "How many bytes a second go through a UNIX stream socket?",
    .source = "lmbench bw_unix (McVoy & Staelin 1996)",
    .uses = "cpu,sched,ipc",
    BANDWIDTH_DESCRIPTION(BANDWIDTH_SIZES, MAX_MESSAGE),
};

int main(int argc, char **argv)
{
    return probe_main(&bandwidth_unix_stream, argc, argv);
}
