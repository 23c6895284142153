/* SPDX-License-Identifier: Apache-2.0
 * sockets.h - two sockets that are connected with each other, at an address that the kernel chooses. */
#ifndef STEELYARD_MESSAGE_SOCKETS_H
#define STEELYARD_MESSAGE_SOCKETS_H

#include "probe.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define UDP_LARGEST 65507 /* what a 16 bit length leaves to the payload; the MTU has no say in it */

/* The one that was connected to, and the one that connected. */
struct ends {
    int called, calling;
};

struct address {
    struct sockaddr_storage at;
    socklen_t length;
};

/* Bound without a name, a socket gets an abstract one that is free: no file that could be left behind. */
static inline struct address any_unix(void)
{
    return (struct address){.at.ss_family = AF_UNIX, .length = sizeof(sa_family_t)};
}

/* Port 0: any that is free. */
static inline struct address any_loopback(void)
{
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct address address = {.length = sizeof any};
    memcpy(&address.at, &any, sizeof any);
    return address;
}

/* Of the address's family; `address` is then where the socket can be reached. */
static inline int socket_at(struct address *address, int type, const char *what)
{
    int fd = socket(address->at.ss_family, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address->at, address->length) != 0)
        probe_skip("no %s: %s", what, strerror(errno));
    address->length = sizeof address->at;
    if (getsockname(fd, (struct sockaddr *)&address->at, &address->length) != 0)
        probe_fail("a socket does not know its address: %s", strerror(errno));
    return fd;
}

static inline void connect_to(int fd, const struct address *address, const char *what)
{
    if (connect(fd, (const struct sockaddr *)&address->at, address->length) != 0)
        probe_skip("no %s: %s", what, strerror(errno));
}

/* By listening and accepting. */
static inline struct ends connection(struct address address, int type, const char *what)
{
    int listener = socket_at(&address, type, what);
    struct ends ends = {.calling = socket(address.at.ss_family, type | SOCK_CLOEXEC, 0)};
    if (ends.calling < 0 || listen(listener, 1) != 0)
        probe_skip("no %s: %s", what, strerror(errno));
    connect_to(ends.calling, &address, what);
    ends.called = accept(listener, NULL, NULL);
    if (ends.called < 0)
        probe_skip("no %s: %s", what, strerror(errno));
    close(listener);
    return ends;
}

/* Two that keep the borders of messages, each connected to the other. */
static inline struct ends datagram_pair(struct address any, const char *what)
{
    struct address called = any, calling = any;
    struct ends ends = {.called = socket_at(&called, SOCK_DGRAM, what)};
    ends.calling = socket_at(&calling, SOCK_DGRAM, what);
    connect_to(ends.called, &calling, what);
    connect_to(ends.calling, &called, what);
    return ends;
}

static inline struct ends unix_connection(int type)
{
    return connection(any_unix(), type, "UNIX connection");
}

/* What is sent goes at once. */
static inline struct ends tcp_connection(void)
{
    struct ends ends = connection(any_loopback(), SOCK_STREAM, "TCP connection over loopback");
    if (setsockopt(ends.called, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) != 0 ||
        setsockopt(ends.calling, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) != 0)
        probe_fail("cannot set TCP_NODELAY: %s", strerror(errno));
    return ends;
}

static inline struct ends udp_pair(void)
{
    return datagram_pair(any_loopback(), "UDP over loopback");
}

#endif
