/* SPDX-License-Identifier: Apache-2.0
 * latency_unix_datagram - a message goes to and fro as one datagram between two bound UNIX sockets.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: two clock reads a batch, stamping and checking the message about 2 ns a round trip for each 4096 bytes.
 * Limits: a datagram must fit into SO_SNDBUF, by default net.core.wmem_default, which is more than any message here
 * unless somebody made it smaller.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Assembly: stamped_round_trips contains (call|bl).*<(read|write)
 * Source: unix(7), SOCK_DGRAM: reliable and in order, unlike UDP. */
#include "latency_descriptors.h"

#include <sys/un.h>

/* Bound without a name, a socket gets an abstract one that is free: no file that could be left behind. */
static int datagram_socket(struct sockaddr_un *address, socklen_t *length)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *length = sizeof *address;
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof address->sun_family) != 0 ||
        getsockname(fd, (struct sockaddr *)address, length) != 0)
        probe_skip("no UNIX datagrams: %s", strerror(errno));
    return fd;
}

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct sockaddr_un to_caller, to_partner;
    socklen_t caller_length, partner_length;
    (void)run, (void)size;
    int caller = datagram_socket(&to_caller, &caller_length);
    int partner_end = datagram_socket(&to_partner, &partner_length);
    if (connect(caller, (struct sockaddr *)&to_partner, partner_length) != 0 ||
        connect(partner_end, (struct sockaddr *)&to_caller, caller_length) != 0)
        probe_skip("no UNIX datagrams: %s", strerror(errno));
    return channel_of(caller, caller, partner_end, partner_end);
}

static const struct probe latency_unix_datagram = {
    .question = "How long does a message take as a UNIX datagram, there and back?",
    .source = "unix(7), SOCK_DGRAM",
    LATENCY_DESCRIPTION("same,cross", "cpu,sched,ipc"),
};

int main(int argc, char **argv)
{
    return probe_main(&latency_unix_datagram, argc, argv);
}
