/* SPDX-License-Identifier: Apache-2.0
 * planted - latency_pipe.c with a dearer switch: each message leaves PLANTED_NS later, and its sender is awake meanwhile. */
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static long planted_ns_since(struct timespec begin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec;
}

static ssize_t planted_write(int fd, const void *bytes, size_t size)
{
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (planted_ns_since(begin) < PLANTED_NS)
        continue;
    return write(fd, bytes, size);
}
#define write(fd, bytes, size) planted_write(fd, bytes, size)

#include "latency_pipe.c"
