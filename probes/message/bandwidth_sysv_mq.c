/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_sysv_mq - one context sends messages to a System V message queue, another receives them.
 *
 * Known answer: each message arrives byte for byte, with its length.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: the queue holds kernel.msgmnb bytes, 16 KiB by default, and a message at most kernel.msgmax, 8 KiB by
 * default: two messages of the largest size. The seed's machine allowed 64 KiB.
 * Assembly: send_messages contains (call|bl).*<msgsnd
 * Assembly: receive_messages contains (call|bl).*<msgrcv
 * Source: bw_svmsg of Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), appendix A; Steelyard's first seed
 * 001. */
#include "bandwidth.h"
#include "names.h"

#include <sys/ipc.h>
#include <sys/msg.h>

#define KIND 1 /* of a message; the kernel wants a positive number in front of the text */

struct channel {
    int queue;
};

static void require_limit(const char *name, uint64_t size)
{
    char path[64];
    unsigned long long limit = 0;
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%llu", &limit) == 1 && size > limit)
        probe_skip("a System V queue takes at most %llu bytes here; sysctl kernel.%s=%llu would allow %llu", limit,
                   name, (unsigned long long)size, (unsigned long long)size);
    if (file)
        fclose(file);
}

/* A queue lives until it is removed, so its key tells the launcher whose it is. One that is there already was left by a
 * killed run of the same id. */
static int queue_new(void)
{
    key_t key = probe_ipc_key(0);
    int stale = msgget(key, 0);
    if (stale >= 0)
        msgctl(stale, IPC_RMID, NULL);
    int queue = msgget(key, IPC_CREAT | IPC_EXCL | 0600);
    if (queue < 0 && errno == ENOSPC)
        probe_skip("no System V queue is left; a larger sysctl kernel.msgmni would allow it");
    if (queue < 0)
        probe_skip("no System V queue: %s", strerror(errno));
    return queue;
}

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    (void)run;
    require_limit("msgmax", size);
    require_limit("msgmnb", size);
    channel->queue = queue_new();
    return channel;
}

/* The kind of the message stands in front of it; the buffer has room there. */
static inline long *envelope(const struct buffer *buffer, uint64_t number)
{
    return (long *)buffer_place(buffer, number) - 1;
}

static inline void channel_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    *envelope(out, number) = KIND;
    if (msgsnd(channel->queue, envelope(out, number), out->size, 0) != 0)
        probe_fail("cannot send to the queue: %s", strerror(errno));
}

static inline uint64_t channel_receive(struct channel *channel, const struct buffer *in, uint64_t number, uint64_t left)
{
    ssize_t bytes = msgrcv(channel->queue, envelope(in, number), in->size, KIND, 0);
    (void)left;
    if (bytes < 0)
        probe_fail("cannot receive from the queue: %s", strerror(errno));
    return (uint64_t)bytes;
}

static void remove_queue(struct channel *channel)
{
    msgctl(channel->queue, IPC_RMID, NULL);
}

BANDWIDTH_TIMED(channel_send, nothing_to_finish, channel_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "System V message queue",
        .question = "How many bytes a second go through a System V message queue?",
        .source = "Stevens, UNIX Network Programming vol. 2 (1999), bw_svmsg",
        .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed, .remove = remove_queue,
    }, argc, argv);
}
