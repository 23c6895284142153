/* SPDX-License-Identifier: Apache-2.0
 * ring.h - a ring of io_uring by system calls, without liburing. It belongs to the thread that opens it. */
#ifndef STEELYARD_RING_H
#define STEELYARD_RING_H

#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Headers before Linux 6.1 lack them; the kernel may be newer. */
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1u << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1u << 13)
#endif

struct ring {
    int fd;
    uint32_t *submitted, *reaped; /* tail and head that are ours */
    uint32_t submission_mask, completion_mask;
    const uint32_t *completed;    /* tail that is the kernel's */
    struct io_uring_sqe *entry;
    const struct io_uring_cqe *completion;
};

static void *ring_map(int fd, uint64_t bytes, off_t what)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
}

/* Where the kernel can (Linux 6.1), completions are worked off by who waits for them; elsewhere they interrupt it.
 * `completions`: room for so many, 0 for twice the entries. Returns NULL, or why there is none. */
static const char *ring_open(struct ring *ring, uint32_t entries, uint32_t completions)
{
    static char why[120];
    uint32_t sized = completions ? IORING_SETUP_CQSIZE : 0;
    struct io_uring_params p = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | sized,
                                .cq_entries = completions};
    int fd = (int)syscall(SYS_io_uring_setup, entries, &p);
    if (fd < 0 && errno == EINVAL) {
        p = (struct io_uring_params){.flags = sized, .cq_entries = completions};
        fd = (int)syscall(SYS_io_uring_setup, entries, &p);
    }
    if (fd < 0 && errno == EPERM)
        return "io_uring is not allowed here; sysctl kernel.io_uring_disabled=0 would allow it, if no sandbox forbids it";
    snprintf(why, sizeof why, "no io_uring: %s", strerror(errno));
    if (fd < 0)
        return why;
    char *submissions = ring_map(fd, p.sq_off.array + p.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
    char *completed = ring_map(fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    struct io_uring_sqe *entry = ring_map(fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
    if (submissions == MAP_FAILED || completed == MAP_FAILED || (void *)entry == MAP_FAILED) {
        snprintf(why, sizeof why, "cannot map a ring of io_uring: %s", strerror(errno));
        close(fd);
        return why;
    }
    uint32_t *array = (uint32_t *)(submissions + p.sq_off.array);
    for (uint32_t i = 0; i < p.sq_entries; i++)
        array[i] = i;
    *ring = (struct ring){
        .fd = fd,
        .submitted = (uint32_t *)(submissions + p.sq_off.tail),
        .reaped = (uint32_t *)(completed + p.cq_off.head),
        .submission_mask = p.sq_entries - 1,
        .completion_mask = p.cq_entries - 1,
        .completed = (uint32_t *)(completed + p.cq_off.tail),
        .entry = entry,
        .completion = (struct io_uring_cqe *)(completed + p.cq_off.cqes),
    };
    return NULL;
}

#endif
