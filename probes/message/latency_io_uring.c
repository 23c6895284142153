/* SPDX-License-Identifier: Apache-2.0
 * latency_io_uring - a message goes to and fro through a pair of UNIX stream sockets, by io_uring.
 *
 * Each party has a ring of its own. It queues the send, links the receive of the answer to it and enters the kernel
 * once for both: one system call for each party and round trip, where message/latency_socketpair makes two.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: two clock reads a batch, stamping and checking the message about 2 ns a round trip for each 4096 bytes.
 * Limits: by system calls, without liburing, registered buffers or a polling kernel thread. Completions are worked off
 * by who waits for them where the kernel can (Linux 6.1), elsewhere they interrupt it, which takes longer.
 * Assembly: enter contains (call|bl).*<syscall
 * Source: Axboe, Efficient IO with io_uring (2019); io_uring_setup(2), IORING_SETUP_DEFER_TASKRUN. */
#include "latency.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Headers before Linux 6.1 lack them; the kernel may be newer. */
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1u << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1u << 13)
#endif

#define ENTRIES 2u /* one send, one receive */

struct uring {
    int fd;
    uint32_t *queue_tail, *completed_head;
    const uint32_t *completed_tail; /* the kernel's */
    uint32_t queued, completion_mask;
    struct io_uring_sqe *entry;
    const struct io_uring_cqe *completion;
};

struct channel {
    int end[2];
    struct uring *ring[2]; /* each in the memory of its party, which alone may use it */
};

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    (void)run, (void)size;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel->end) != 0)
        probe_skip("no pair of UNIX sockets: %s", strerror(errno));
    return channel;
}

static int uring_open(struct io_uring_params *parameters)
{
    *parameters = (struct io_uring_params){.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    int fd = (int)syscall(SYS_io_uring_setup, ENTRIES, parameters);
    if (fd < 0 && errno == EINVAL) {
        *parameters = (struct io_uring_params){0};
        fd = (int)syscall(SYS_io_uring_setup, ENTRIES, parameters);
    }
    if (fd < 0 && errno == EPERM)
        probe_skip("io_uring is forbidden: sysctl kernel.io_uring_disabled=0 would allow it, or a sandbox forbids it");
    if (fd < 0)
        probe_skip("no io_uring: %s", strerror(errno));
    return fd;
}

static char *map(int fd, uint64_t bytes, off_t what)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
    if (memory == MAP_FAILED)
        probe_fail("cannot map a ring of io_uring: %s", strerror(errno));
    return memory;
}

/* By each party for itself: a ring belongs to the context that makes it. */
static void channel_join(struct channel *channel, enum party party)
{
    struct io_uring_params p;
    struct uring *ring = channel->ring[party] = calloc(1, sizeof *ring);
    if (!ring)
        probe_fail("out of memory");
    ring->fd = uring_open(&p);
    char *queue = map(ring->fd, p.sq_off.array + p.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
    char *completed = map(ring->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    ring->entry = (void *)map(ring->fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
    ring->queue_tail = (uint32_t *)(queue + p.sq_off.tail);
    ring->completed_head = (uint32_t *)(completed + p.cq_off.head);
    ring->completed_tail = (uint32_t *)(completed + p.cq_off.tail);
    ring->completion_mask = p.cq_entries - 1;
    ring->completion = (void *)(completed + p.cq_off.cqes);
    for (uint32_t i = 0; i < p.sq_entries; i++)
        ((uint32_t *)(queue + p.sq_off.array))[i] = i;
}

/* MSG_WAITALL: the kernel goes on by itself with what was cut short. The entry's operation comes back as user_data. */
static inline void enqueue(struct uring *ring, uint8_t operation, int fd, unsigned char *message, uint64_t size)
{
    ring->entry[(*ring->queue_tail + ring->queued) % ENTRIES] = (struct io_uring_sqe){
        .opcode = operation, .flags = operation == IORING_OP_SEND ? IOSQE_IO_LINK : 0, .fd = fd,
        .addr = (uint64_t)(uintptr_t)message, .len = (uint32_t)size, .msg_flags = MSG_WAITALL, .user_data = operation};
    ring->queued++;
}

/* What the receive brought; a send must have taken all, or the receive that hangs on it would not have been done. */
static inline uint64_t reap(struct uring *ring)
{
    uint32_t head = *ring->completed_head;
    uint64_t received = 0;
    for (uint32_t i = 0; i < ring->queued; i++, head++) {
        const struct io_uring_cqe *completion = &ring->completion[head & ring->completion_mask];
        if (completion->res < 0)
            probe_fail("io_uring could not %s: %s", completion->user_data == IORING_OP_SEND ? "send" : "receive",
                       strerror(-completion->res));
        if (completion->user_data == IORING_OP_RECV)
            received = (uint64_t)completion->res;
    }
    __atomic_store_n(ring->completed_head, head, __ATOMIC_RELEASE);
    ring->queued = 0;
    return received;
}

static inline uint32_t completions(const struct uring *ring)
{
    return __atomic_load_n(ring->completed_tail, __ATOMIC_ACQUIRE) - *ring->completed_head;
}

/* Submit what is queued and wait until all of it is done. */
static __attribute__((noinline)) uint64_t enter(struct uring *ring)
{
    uint32_t left = ring->queued;
    __atomic_store_n(ring->queue_tail, *ring->queue_tail + left, __ATOMIC_RELEASE);
    do {
        long taken = syscall(SYS_io_uring_enter, ring->fd, left, ring->queued, IORING_ENTER_GETEVENTS, NULL, 0);
        if (taken < 0 && errno != EINTR)
            probe_fail("io_uring_enter: %s", strerror(errno));
        left -= taken > 0 ? (uint32_t)taken : 0;
    } while (left > 0 || completions(ring) < ring->queued);
    return reap(ring);
}

static inline void channel_send(struct channel *channel, enum party from, unsigned char *message, uint64_t size)
{
    enqueue(channel->ring[from], IORING_OP_SEND, channel->end[from], message, size);
}

static inline uint64_t channel_receive(struct channel *channel, enum party to, unsigned char *message, uint64_t size)
{
    enqueue(channel->ring[to], IORING_OP_RECV, channel->end[to], message, size);
    return enter(channel->ring[to]);
}

static void channel_finish(struct channel *channel)
{
    enter(channel->ring[CALLER]);
}

LATENCY_NOTHING_TO_REMOVE

static const struct probe latency_io_uring = {
    .question = "How long does a message take through a pair of UNIX stream sockets by io_uring, there and back?",
    .source = "Axboe, Efficient IO with io_uring (2019)",
    LATENCY_DESCRIPTION("same,cross", "cpu,sched,ipc"),
};

int main(int argc, char **argv)
{
    return probe_main(&latency_io_uring, argc, argv);
}
