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

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static int tcp_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        probe_skip("no TCP: %s", strerror(errno));
    return fd;
}

/* Port 0: any that is free. */
static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = tcp_socket(), sending = tcp_socket(), receiving;
    (void)run, (void)size;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &(socklen_t){sizeof address}) != 0 ||
        connect(sending, (struct sockaddr *)&address, sizeof address) != 0 ||
        (receiving = accept(listener, NULL, NULL)) < 0)
        probe_skip("no TCP connection over loopback: %s", strerror(errno));
    close(listener);
    if (setsockopt(sending, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) != 0)
        probe_fail("cannot set TCP_NODELAY: %s", strerror(errno));
    return stream_new(receiving, sending);
}

static const struct probe bandwidth_tcp = {
    .question = "How many bytes a second go through a TCP connection over loopback?",
    .source = "lmbench bw_tcp (McVoy & Staelin 1996)",
    .uses = "cpu,sched,ipc,net",
    BANDWIDTH_DESCRIPTION(BANDWIDTH_SIZES, MAX_MESSAGE),
};

int main(int argc, char **argv)
{
    return probe_main(&bandwidth_tcp, argc, argv);
}
