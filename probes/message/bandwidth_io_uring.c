/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_io_uring - messages over a pair of UNIX stream sockets, sent and received by io_uring in chains of 8.
 *
 * Each side has a ring of its own, queues up to 8 sends or receives that are linked, so that they keep their order, and
 * enters the kernel once for all. message/bandwidth_socketpair does the same one system call a message.
 *
 * Known answer: each message arrives byte for byte; every completion has the full length.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: by system calls, without liburing, registered buffers or a polling kernel thread. 8 messages of 64 KiB are
 * more than a socket holds, so there a chain stops and goes on. Needs Linux 5.19, which finishes a send that was cut
 * short (MSG_WAITALL).
 * Assembly: uring_submit contains (call|bl).*<syscall
 * Source: Axboe, Efficient IO with io_uring (2019). */
#define CHAIN 8
#define BANDWIDTH_PLACES(run) CHAIN
#include "bandwidth.h"

#include <linux/io_uring.h>
#include <stdlib.h>
#include <sys/socket.h>

struct uring {
    int fd;
    uint32_t *submitted, *reaped;     /* tail and head that are ours */
    uint32_t submission_mask, completion_mask, queued;
    const uint32_t *completed;        /* tail that is the kernel's */
    struct io_uring_sqe *entry;
    const struct io_uring_cqe *completion;
};

struct channel {
    int receiving, sending;
    struct uring *sender, *receiver;  /* each used by its own context alone */
    uint64_t ready;                   /* messages received and not yet handed on */
};

static void *map(int fd, uint64_t bytes, off_t what)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
    if (memory == MAP_FAILED)
        probe_fail("cannot map a ring of io_uring: %s", strerror(errno));
    return memory;
}

static struct uring *uring_new(void)
{
    struct io_uring_params p = {0};
    struct uring *ring = calloc(1, sizeof *ring);
    int fd = (int)syscall(SYS_io_uring_setup, CHAIN, &p);
    if (!ring)
        probe_fail("out of memory");
    if (fd < 0 && errno == EPERM)
        probe_skip("io_uring is not allowed here; sysctl kernel.io_uring_disabled=0 would allow it, if no sandbox "
                   "forbids it");
    if (fd < 0)
        probe_skip("no io_uring: %s", strerror(errno));
    char *submissions = map(fd, p.sq_off.array + p.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
    char *completions = map(fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
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
        .entry = map(fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES),
        .completion = (struct io_uring_cqe *)(completions + p.cq_off.cqes),
    };
    return ring;
}

/* MSG_WAITALL: the kernel goes on with what was cut short, and the chain with it. */
static inline void uring_queue(struct uring *ring, uint8_t operation, int fd, const void *message, uint64_t size)
{
    uint32_t at = *ring->submitted + ring->queued++;
    ring->entry[at & ring->submission_mask] = (struct io_uring_sqe){
        .opcode = operation, .flags = IOSQE_IO_LINK, .fd = fd, .addr = (uint64_t)(uintptr_t)message,
        .len = (uint32_t)size, .msg_flags = MSG_WAITALL};
}

static void uring_reap(struct uring *ring, uint64_t size)
{
    uint32_t reaped = *ring->reaped;
    for (uint32_t i = 0; i < ring->queued; i++, reaped++) {
        int result = ring->completion[reaped & ring->completion_mask].res;
        if (result < 0)
            probe_fail("io_uring: %s", strerror(-result));
        if ((uint64_t)result != size)
            probe_fail("io_uring moved %d of %llu bytes; before Linux 5.19 it does not finish a send", result,
                       (unsigned long long)size);
    }
    __atomic_store_n(ring->reaped, reaped, __ATOMIC_RELEASE);
    ring->queued = 0;
}

/* Submit what is queued and wait until all of it has come to its end, each with `size` bytes. */
static __attribute__((noinline)) void uring_submit(struct uring *ring, uint64_t size)
{
    uint32_t left = ring->queued, last = *ring->submitted + left - 1;
    ring->entry[last & ring->submission_mask].flags = 0; /* the chain ends here */
    __atomic_store_n(ring->submitted, last + 1, __ATOMIC_RELEASE);
    while (left > 0 || __atomic_load_n(ring->completed, __ATOMIC_ACQUIRE) - *ring->reaped < ring->queued) {
        long taken = syscall(SYS_io_uring_enter, ring->fd, left, ring->queued, IORING_ENTER_GETEVENTS, NULL, 0);
        if (taken < 0 && errno != EINTR)
            probe_fail("io_uring_enter: %s", strerror(errno));
        left -= taken > 0 ? (uint32_t)taken : 0;
    }
    uring_reap(ring, size);
}

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    int ends[2];
    (void)run, (void)size;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        probe_skip("no pair of UNIX sockets: %s", strerror(errno));
    channel->receiving = ends[0];
    channel->sending = ends[1];
    channel->sender = uring_new();
    return channel;
}

static inline void channel_finish(struct channel *channel, const struct buffer *out, uint64_t next)
{
    (void)next;
    if (channel->sender->queued > 0)
        uring_submit(channel->sender, out->size);
}

static inline void channel_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    uring_queue(channel->sender, IORING_OP_SEND, channel->sending, buffer_place(out, number), out->size);
    if (channel->sender->queued == CHAIN)
        uring_submit(channel->sender, out->size);
}

/* The places of a chain follow each other, wherever in the buffer it begins. */
static void receive_chain(struct channel *channel, const struct buffer *in, uint64_t first, uint64_t messages)
{
    if (!channel->receiver) /* here, because a ring belongs to the process that makes it */
        channel->receiver = uring_new();
    for (uint64_t number = first; number < first + messages; number++)
        uring_queue(channel->receiver, IORING_OP_RECV, channel->receiving, buffer_place(in, number), in->size);
    uring_submit(channel->receiver, in->size);
    channel->ready = messages;
}

static inline uint64_t channel_receive(struct channel *channel, const struct buffer *in, uint64_t number, uint64_t left)
{
    if (channel->ready == 0)
        receive_chain(channel, in, number, left < CHAIN ? left : CHAIN);
    channel->ready--;
    return in->size; /* each completion said so */
}

static const struct probe bandwidth_io_uring = {
    .question = "How many bytes a second go through a pair of UNIX stream sockets by io_uring?",
    .source = "Axboe, Efficient IO with io_uring (2019)",
    .uses = "cpu,sched,ipc",
    BANDWIDTH_DESCRIPTION(BANDWIDTH_SIZES, MAX_MESSAGE),
};

int main(int argc, char **argv)
{
    return probe_main(&bandwidth_io_uring, argc, argv);
}
