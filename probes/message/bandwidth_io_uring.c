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
#include "bandwidth.h"
#include "uring.h"

#define CHAIN 8

struct channel {
    int receiving, sending;
    struct uring *sender, *receiver;  /* each used by its own context alone */
    uint64_t ready;                   /* messages received and not yet handed on */
};

static uint64_t places(const struct probe_run *run)
{
    (void)run;
    return CHAIN;
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
    channel->sender = uring_new(CHAIN);
    return channel;
}

static inline void channel_finish(struct channel *channel, const struct buffer *out, uint64_t next)
{
    (void)out, (void)next;
    if (channel->sender->queued > 0)
        uring_submit(channel->sender);
}

static inline void channel_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    uring_queue(channel->sender, IORING_OP_SEND, channel->sending, buffer_place(out, number), out->size);
    if (channel->sender->queued == CHAIN)
        uring_submit(channel->sender);
}

/* The places of a chain follow each other, wherever in the buffer it begins. */
static void receive_chain(struct channel *channel, const struct buffer *in, uint64_t first, uint64_t messages)
{
    if (!channel->receiver) /* here, because a ring belongs to the process that makes it */
        channel->receiver = uring_new(CHAIN);
    for (uint64_t number = first; number < first + messages; number++)
        uring_queue(channel->receiver, IORING_OP_RECV, channel->receiving, buffer_place(in, number), in->size);
    uring_submit(channel->receiver);
    channel->ready = messages;
}

static inline uint64_t channel_receive(struct channel *channel, const struct buffer *in, uint64_t number, uint64_t left)
{
    if (channel->ready == 0)
        receive_chain(channel, in, number, left < CHAIN ? left : CHAIN);
    channel->ready--;
    return in->size; /* each completion said so */
}

BANDWIDTH_TIMED(channel_send, channel_finish, channel_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "UNIX socket pair, by io_uring",
        .question = "How many bytes a second go through a pair of UNIX stream sockets by io_uring?",
        .source = "Axboe, Efficient IO with io_uring (2019)",
        .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed, .places = places,
    }, argc, argv);
}
