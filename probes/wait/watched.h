/* SPDX-License-Identifier: Apache-2.0
 * watched.h - descriptors that are asked whether they are ready, by one system call a file.
 *
 * They are sockets without a connection: a TCP socket in that state is hung up, which counts as readable, and a UDP
 * socket to which nothing was sent is not. So nothing needs an address, and what is ready stays so. The one that is
 * ready among many is the last. */
#ifndef STEELYARD_WAIT_WATCHED_H
#define STEELYARD_WAIT_WATCHED_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "descriptors.h"

struct watched {
    int count, ready; /* how many there are, and how many of them are ready: the last ones */
    int *fd;
};

static inline bool watched_is_ready(const struct watched *watched, int number)
{
    return number >= watched->count - watched->ready;
}

static inline struct watched *watched_new(const struct probe_run *run)
{
    struct watched *watched = calloc(1, sizeof *watched);
    const int count = (int)probe_integer(run, "descriptors");
    descriptors_allow((uint64_t)count);
    if (!watched || !(watched->fd = calloc((size_t)count, sizeof *watched->fd)))
        probe_fail("out of memory");
    watched->count = count;
    watched->ready = probe_is(run, "ready", "all") ? count : 1;
    for (int i = 0; i < count; i++) {
        const int type = watched_is_ready(watched, i) ? SOCK_STREAM : SOCK_DGRAM;
        watched->fd[i] = socket(AF_INET, type | SOCK_CLOEXEC, 0);
        if (watched->fd[i] < 0)
            probe_skip("socket %d of %d: %s", i + 1, count, strerror(errno));
    }
    return watched;
}

static inline void watched_free(struct watched *watched)
{
    for (int i = 0; i < watched->count; i++)
        close(watched->fd[i]);
    free(watched->fd);
    free(watched);
}

/* The rest of the descriptor. */
#define WATCHED_DESCRIPTION(CALL, SWEEP, MOST) \
    .question = "What does it cost to ask by " CALL " which of many descriptors are ready?", \
    .operation = "one " CALL " that does not wait, over `descriptors` sockets of which one or all are ready", \
    .statistic = "lower_quartile", .placements = "same", .uses = "cpu", .family = "ready", \
    .metrics = (const struct probe_metric[]){ \
        {"call", "s", "lower", "wall", "operations", "time of one call over all descriptors"}, \
        {"descriptor", "s", "lower", "wall", "asked", "the same, divided by the number of descriptors"}, \
        {0}}, \
    .params = (const struct probe_param[]){ \
        {.name = "descriptors", .doc = "sockets that are watched", .unit = "1", .sweep = SWEEP, .brief = "10,1000", \
         .min = 1, .max = MOST}, \
        {.name = "ready", .doc = "how many of them are ready", .choices = "one,all", .sweep = "one,all"}, \
        {0}}

#endif
