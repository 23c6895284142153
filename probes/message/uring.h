/* SPDX-License-Identifier: Apache-2.0
 * uring.h - a ring of io_uring for messages through a socket, by system calls and without liburing.
 *
 * What is queued is done in its order, each after the one before (IOSQE_IO_LINK), and must move its full length. A ring
 * belongs to the context that makes it. */
#ifndef STEELYARD_MESSAGE_URING_H
#define STEELYARD_MESSAGE_URING_H

#include "probe.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Headers before Linux 6.1 lack them; the kernel may be newer. */
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1u << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1u << 13)
#endif

struct uring {
    int fd;
    uint32_t *submitted, *reaped; /* tail and head that are ours */
    uint32_t submission_mask, completion_mask, queued;
    const uint32_t *completed;    /* tail that is the kernel's */
    struct io_uring_sqe *entry;
    const struct io_uring_cqe *completion;
};

/* Where the kernel can (Linux 6.1), completions are worked off by who waits for them; elsewhere they interrupt it. */
static int uring_open(uint32_t entries, struct io_uring_params *parameters)
{
    *parameters = (struct io_uring_params){.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    int fd = (int)syscall(SYS_io_uring_setup, entries, parameters);
    if (fd < 0 && errno == EINVAL) {
        *parameters = (struct io_uring_params){0};
        fd = (int)syscall(SYS_io_uring_setup, entries, parameters);
    }
    if (fd < 0 && errno == EPERM)
        probe_skip("io_uring is not allowed here; sysctl kernel.io_uring_disabled=0 would allow it, if no sandbox "
                   "forbids it");
    if (fd < 0)
        probe_skip("no io_uring: %s", strerror(errno));
    return fd;
}

static void *uring_map(int fd, uint64_t bytes, off_t what)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
    if (memory == MAP_FAILED)
        probe_fail("cannot map a ring of io_uring: %s", strerror(errno));
    return memory;
}

static struct uring *uring_new(uint32_t entries)
{
    struct io_uring_params p;
    struct uring *ring = calloc(1, sizeof *ring);
    if (!ring)
        probe_fail("out of memory");
    int fd = uring_open(entries, &p);
    char *submissions = uring_map(fd, p.sq_off.array + p.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
    char *completions = uring_map(fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    uint32_t *array = (uint32_t *)(submissions + p.sq_off.array);
    for (uint32_t i = 0; i < p.sq_entries; i++)
        array[i] = i;
    *ring = (struct uring){
        .fd = fd,
        .submitted = (uint32_t *)(submissions + p.sq_off.tail),
        .reaped = (uint32_t *)(completions + p.cq_off.head),
        .submission_mask = p.sq_entries - 1,
        .completion_mask = p.cq_entries - 1,
        .completed = (uint32_t *)(completions + p.cq_off.tail),
        .entry = uring_map(fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES),
        .completion = (struct io_uring_cqe *)(completions + p.cq_off.cqes),
    };
    return ring;
}

/* `operation` is IORING_OP_SEND or IORING_OP_RECV; no more than `entries` of them before uring_submit().
 * MSG_WAITALL: the kernel goes on with what was cut short, and the chain with it. */
static inline void uring_queue(struct uring *ring, uint8_t operation, int fd, const void *message, uint64_t size)
{
    uint32_t at = *ring->submitted + ring->queued++;
    ring->entry[at & ring->submission_mask] = (struct io_uring_sqe){
        .opcode = operation, .flags = IOSQE_IO_LINK, .fd = fd, .addr = (uint64_t)(uintptr_t)message,
        .len = (uint32_t)size, .msg_flags = MSG_WAITALL, .user_data = size};
}

static inline void uring_reap(struct uring *ring)
{
    uint32_t reaped = *ring->reaped;
    for (uint32_t i = 0; i < ring->queued; i++, reaped++) {
        const struct io_uring_cqe *completion = &ring->completion[reaped & ring->completion_mask];
        if (completion->res < 0)
            probe_fail("io_uring: %s", strerror(-completion->res));
        if ((uint64_t)completion->res != completion->user_data)
            probe_fail("io_uring moved %d of %llu bytes; before Linux 5.19 it does not finish a send", completion->res,
                       (unsigned long long)completion->user_data);
    }
    __atomic_store_n(ring->reaped, reaped, __ATOMIC_RELEASE);
    ring->queued = 0;
}

/* Submit what is queued and wait until all of it has come to its end. */
static __attribute__((noinline)) void uring_submit(struct uring *ring)
{
    uint32_t left = ring->queued, last = *ring->submitted + left - 1;
    ring->entry[last & ring->submission_mask].flags = 0; /* the chain ends here */
    __atomic_store_n(ring->submitted, last + 1, __ATOMIC_RELEASE);
    do {
        long taken = syscall(SYS_io_uring_enter, ring->fd, left, ring->queued, IORING_ENTER_GETEVENTS, NULL, 0);
        if (taken < 0 && errno != EINTR)
            probe_fail("io_uring_enter: %s", strerror(errno));
        left -= taken > 0 ? (uint32_t)taken : 0;
    } while (left > 0 || __atomic_load_n(ring->completed, __ATOMIC_ACQUIRE) - *ring->reaped < ring->queued);
    uring_reap(ring);
}

#endif
