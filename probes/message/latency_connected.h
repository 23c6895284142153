/* SPDX-License-Identifier: Apache-2.0
 * latency_connected.h - a UNIX socket that listened and one that connected to it. */
#ifndef STEELYARD_MESSAGE_LATENCY_CONNECTED_H
#define STEELYARD_MESSAGE_LATENCY_CONNECTED_H

#include "latency_descriptors.h"

#include <sys/un.h>

static int unix_socket(int type)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0)
        probe_skip("no UNIX socket: %s", strerror(errno));
    return fd;
}

/* Bound without a name, a socket gets an abstract one that is free: no file that could be left behind. */
static struct channel *channel_connected(int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    int listener = unix_socket(type), caller = unix_socket(type), accepted;
    if (bind(listener, (struct sockaddr *)&address, sizeof address.sun_family) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        connect(caller, (struct sockaddr *)&address, length) != 0 || (accepted = accept(listener, NULL, NULL)) < 0)
        probe_skip("no UNIX connection: %s", strerror(errno));
    close(listener);
    return channel_of(caller, caller, accepted, accepted);
}

#endif
