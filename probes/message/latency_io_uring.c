/* SPDX-License-Identifier: Apache-2.0
 * latency_io_uring - a message goes to and fro through a pair of UNIX stream sockets, by io_uring.
 *
 * Each party has a ring of its own. It queues the send, links the receive of the answer to it and enters the kernel
 * once for both: one system call for each party and round trip, where message/latency_socketpair makes two.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: by system calls, without liburing, registered buffers or a polling kernel thread. Completions are worked off
 * by who waits for them where the kernel can (Linux 6.1), elsewhere they interrupt it, which takes longer.
 * Assembly: uring_submit contains (call|bl).*<syscall
 * Source: Axboe, Efficient IO with io_uring (2019); io_uring_setup(2), IORING_SETUP_DEFER_TASKRUN. */
#include "latency.h"
#include "uring.h"

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

static void channel_join(struct channel *channel, enum party party)
{
    channel->ring[party] = uring_new(2); /* a send, a receive */
}

static inline void channel_send(struct channel *channel, enum party from, unsigned char *message, uint64_t size)
{
    uring_queue(channel->ring[from], IORING_OP_SEND, channel->end[from], message, size);
}

static inline uint64_t channel_receive(struct channel *channel, enum party to, unsigned char *message, uint64_t size)
{
    uring_queue(channel->ring[to], IORING_OP_RECV, channel->end[to], message, size);
    uring_submit(channel->ring[to]);
    return size; /* its completion said so */
}

static void channel_finish(struct channel *channel)
{
    uring_submit(channel->ring[CALLER]);
}

LATENCY_TIMED(channel_send, channel_receive)

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "UNIX socket pair, by io_uring",
        .question = "How long does a message take through a pair of UNIX stream sockets by io_uring, there and back?",
        .source = "Axboe, Efficient IO with io_uring (2019)",
        .properties = "boundaries=no,readers=one,when full=sender waits,"
                      "other side gone=told,hosts=this one,limit=kernel.io_uring_disabled",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed, .join = channel_join, .finish = channel_finish,
    }, argc, argv);
}
