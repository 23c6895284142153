/* SPDX-License-Identifier: Apache-2.0
 * latency_sysv_mq - a message goes to and fro through one System V message queue, with a type for each direction.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: a message has at most kernel.msgmax bytes, 8 KiB by default.
 * Assembly: round_trips contains (call|bl).*<msg(snd|rcv)
 * Source: lat_svmsg of Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), appendix A, also one queue with two
 * types; Steelyard's first seed 001. */
#include "latency.h"
#include "names.h"

#include <stdio.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#define KEY 8 /* of the run's keys */

struct channel {
    int queue;
};

static void require_limit(const char *name, uint64_t size)
{
    char path[64];
    unsigned long long limit, wanted = size;
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%llu", &limit) == 1 && wanted > limit)
        probe_skip("a System V queue takes at most %llu bytes; sysctl kernel.%s=%llu would allow a message of %llu",
                   limit, name, wanted, wanted);
    if (file)
        fclose(file);
}

/* A queue lives until it is removed, so its key tells the launcher whose it is. One that is there already was left by a
 * killed run of the same id. */
static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    (void)run;
    require_limit("msgmax", size);
    require_limit("msgmnb", size);
    key_t key = probe_ipc_key(KEY);
    int stale = msgget(key, 0);
    if (stale >= 0)
        msgctl(stale, IPC_RMID, NULL);
    channel->queue = msgget(key, IPC_CREAT | IPC_EXCL | 0600);
    if (channel->queue < 0 && errno == ENOSPC)
        probe_skip("no System V queue is left; a larger sysctl kernel.msgmni would allow it");
    if (channel->queue < 0)
        probe_skip("no System V queue: %s", strerror(errno));
    return channel;
}

static void channel_remove(struct channel *channel)
{
    msgctl(channel->queue, IPC_RMID, NULL);
}

/* The type stands in front of the message and is never 0: the number of the one who sent it, from 1. */
static inline long *type_of(unsigned char *message)
{
    return (long *)message - 1;
}

static inline void channel_send(struct channel *channel, enum party from, unsigned char *message, uint64_t size)
{
    *type_of(message) = (long)from + 1;
    if (msgsnd(channel->queue, type_of(message), size, 0) != 0)
        probe_fail("cannot send to the queue: %s", strerror(errno));
}

static inline uint64_t channel_receive(struct channel *channel, enum party to, unsigned char *message, uint64_t size)
{
    ssize_t bytes = msgrcv(channel->queue, type_of(message), size, (long)other_than(to) + 1, 0);
    if (bytes < 0)
        probe_fail("cannot receive from the queue: %s", strerror(errno));
    return (uint64_t)bytes;
}

LATENCY_TIMED(channel_send, channel_receive)

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "System V message queue",
        .question = "How long does a message take through a System V message queue, there and back?",
        .source = "Stevens, UNIX Network Programming vol. 2 (1999), lat_svmsg",
        .properties = "boundaries=yes,readers=several,when full=sender waits,"
                      "other side gone=not told,hosts=this one,limit=kernel.msgmnb",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed, .remove = channel_remove,
    }, argc, argv);
}
