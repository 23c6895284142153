/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_posix_mq - one context sends messages to a POSIX message queue, another receives them.
 *
 * Known answer: each message arrives byte for byte, with its length.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: the queue holds 4 messages, as in Stevens, whatever their size: what it holds grows with the message, while a
 * pipe stays at 64 KiB. Messages above fs.mqueue.msgsize_max need CAP_SYS_RESOURCE or a larger limit.
 * Assembly: send_messages contains (call|bl).*<mq_send
 * Assembly: receive_messages contains (call|bl).*<mq_receive
 * Source: bw_pxmsg of Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), appendix A; Steelyard's first seed
 * 001. */
#include "bandwidth.h"
#include "names.h"

#include <fcntl.h>
#include <mqueue.h>

#define QUEUE_MESSAGES 4

struct channel {
    mqd_t queue;
};

static _Noreturn void queue_refused(uint64_t size)
{
    unsigned long long bytes = size;
    if (errno == EINVAL)
        probe_skip("a POSIX queue takes no message of %llu bytes; sysctl fs.mqueue.msgsize_max of at least %llu "
                   "and fs.mqueue.msg_max of at least %d would allow it", bytes, bytes, QUEUE_MESSAGES);
    if (errno == EMFILE)
        probe_skip("a POSIX queue of %d messages of %llu bytes is more than ulimit -q allows", QUEUE_MESSAGES, bytes);
    if (errno == ENOSPC)
        probe_skip("no POSIX queue is left; a larger sysctl fs.mqueue.queues_max would allow it");
    probe_skip("no POSIX queue: %s", strerror(errno));
}

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    struct mq_attr attributes = {.mq_maxmsg = QUEUE_MESSAGES, .mq_msgsize = (long)size};
    char name[PROBE_IPC_NAME_BYTES];
    (void)run;
    probe_ipc_name(name, 0);
    mq_unlink(name); /* of a killed run of the same name */
    channel->queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
    if (channel->queue == (mqd_t)-1)
        queue_refused(size);
    mq_unlink(name); /* the receiver inherits the descriptor */
    return channel;
}

static inline void channel_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    if (mq_send(channel->queue, (const char *)buffer_place(out, number), out->size, 0) != 0)
        probe_fail("cannot send to the queue: %s", strerror(errno));
}

static inline uint64_t channel_receive(struct channel *channel, const struct buffer *in, uint64_t number, uint64_t left)
{
    ssize_t bytes = mq_receive(channel->queue, (char *)buffer_place(in, number), in->size, NULL);
    (void)left;
    if (bytes < 0)
        probe_fail("cannot receive from the queue: %s", strerror(errno));
    return (uint64_t)bytes;
}

BANDWIDTH_TIMED(channel_send, nothing_to_finish, channel_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "POSIX message queue",
        .question = "How many bytes a second go through a POSIX message queue?",
        .source = "Stevens, UNIX Network Programming vol. 2 (1999), bw_pxmsg",
        .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
