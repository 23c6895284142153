/* SPDX-License-Identifier: Apache-2.0
 * latency_tcp - a message goes to and fro through one TCP connection over loopback.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: two clock reads a batch, stamping and checking the message about 2 ns a round trip for each 4096 bytes.
 * Limits: loopback has no wire and no loss. TCP_NODELAY is set, as request and response would be sent; without it
 * nothing would wait here either, as no data are unacknowledged when the next message is sent.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Assembly: stamped_round_trips contains (call|bl).*<(read|write)
 * Source: lat_tcp of lmbench (McVoy & Staelin, USENIX 1996); Steelyard's first seed 001. */
#include "latency_descriptors.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

static int tcp_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        probe_skip("no TCP: %s", strerror(errno));
    return fd;
}

static void send_at_once(int fd)
{
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) != 0)
        probe_fail("cannot set TCP_NODELAY: %s", strerror(errno));
}

/* Port 0: any that is free. */
static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = tcp_socket(), caller = tcp_socket(), accepted;
    (void)run, (void)size;
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        connect(caller, (struct sockaddr *)&address, length) != 0 || (accepted = accept(listener, NULL, NULL)) < 0)
        probe_skip("no TCP connection over loopback: %s", strerror(errno));
    close(listener);
    send_at_once(caller);
    send_at_once(accepted);
    return channel_of(caller, caller, accepted, accepted);
}

static const struct probe latency_tcp = {
    .question = "How long does a message take through a TCP connection over loopback, there and back?",
    .source = "lmbench lat_tcp (McVoy & Staelin 1996)",
    LATENCY_DESCRIPTION("same,cross", "cpu,sched,net"),
};

int main(int argc, char **argv)
{
    return probe_main(&latency_tcp, argc, argv);
}
