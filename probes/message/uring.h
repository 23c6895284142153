/* SPDX-License-Identifier: Apache-2.0
 * uring.h - a ring of io_uring for messages through a socket, by system calls and without liburing.
 *
 * What is queued is done in its order, each after the one before (IOSQE_IO_LINK), and must move its full length. A ring
 * belongs to the context that makes it. */
#ifndef STEELYARD_MESSAGE_URING_H
#define STEELYARD_MESSAGE_URING_H

#include "probe.h"
#include "ring.h"

#include <stdlib.h>
#include <sys/socket.h>

struct uring {
    struct ring of;
    uint32_t queued;
};

static struct uring *uring_new(uint32_t entries)
{
    struct uring *ring = calloc(1, sizeof *ring);
    if (!ring)
        probe_fail("out of memory");
    const char *why = ring_open(&ring->of, entries, 0);
    if (why)
        probe_skip("%s", why);
    return ring;
}

/* `operation` is IORING_OP_SEND or IORING_OP_RECV; no more than `entries` of them before uring_submit().
 * MSG_WAITALL: the kernel goes on with what was cut short, and the chain with it. */
static inline void uring_queue(struct uring *ring, uint8_t operation, int fd, const void *message, uint64_t size)
{
    uint32_t at = *ring->of.submitted + ring->queued++;
    ring->of.entry[at & ring->of.submission_mask] = (struct io_uring_sqe){
        .opcode = operation, .flags = IOSQE_IO_LINK, .fd = fd, .addr = (uint64_t)(uintptr_t)message,
        .len = (uint32_t)size, .msg_flags = MSG_WAITALL, .user_data = size};
}

static inline void uring_reap(struct uring *ring)
{
    uint32_t reaped = *ring->of.reaped;
    for (uint32_t i = 0; i < ring->queued; i++, reaped++) {
        const struct io_uring_cqe *completion = &ring->of.completion[reaped & ring->of.completion_mask];
        if (completion->res < 0)
            probe_fail("io_uring: %s", strerror(-completion->res));
        if ((uint64_t)completion->res != completion->user_data)
            probe_fail("io_uring moved %d of %llu bytes; before Linux 5.19 it does not finish a send", completion->res,
                       (unsigned long long)completion->user_data);
    }
    __atomic_store_n(ring->of.reaped, reaped, __ATOMIC_RELEASE);
    ring->queued = 0;
}

/* Submit what is queued and wait until all of it has come to its end. */
static __attribute__((noinline)) void uring_submit(struct uring *ring)
{
    uint32_t left = ring->queued, last = *ring->of.submitted + left - 1;
    ring->of.entry[last & ring->of.submission_mask].flags = 0; /* the chain ends here */
    __atomic_store_n(ring->of.submitted, last + 1, __ATOMIC_RELEASE);
    do {
        long taken = syscall(SYS_io_uring_enter, ring->of.fd, left, ring->queued, IORING_ENTER_GETEVENTS, NULL, 0);
        if (taken < 0 && errno != EINTR)
            probe_fail("io_uring_enter: %s", strerror(errno));
        left -= taken > 0 ? (uint32_t)taken : 0;
    } while (left > 0 || __atomic_load_n(ring->of.completed, __ATOMIC_ACQUIRE) - *ring->of.reaped < ring->queued);
    uring_reap(ring);
}

#endif
