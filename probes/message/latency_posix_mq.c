/* SPDX-License-Identifier: Apache-2.0
 * latency_posix_mq - a message goes to and fro through two POSIX message queues.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: a queue holds one message, as one is on its way at a time. Messages above fs.mqueue.msgsize_max need
 * CAP_SYS_RESOURCE or a larger limit.
 * Assembly: round_trips contains (call|bl).*<mq_(send|receive)
 * Source: lat_pxmsg of Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), appendix A; Steelyard's first seed
 * 001. */
#include "latency.h"
#include "names.h"

#include <fcntl.h>
#include <mqueue.h>

#define FIRST_NAME 8 /* of the run's names */

struct channel {
    mqd_t out[2], in[2];
};

static _Noreturn void queue_refused(uint64_t size)
{
    unsigned long long bytes = size;
    if (errno == EINVAL)
        probe_skip("a POSIX queue takes no message of %llu bytes; sysctl fs.mqueue.msgsize_max=%llu would allow it",
                   bytes, bytes);
    if (errno == EMFILE)
        probe_skip("two POSIX queues for a message of %llu bytes are more than ulimit -q allows", bytes);
    if (errno == ENOSPC)
        probe_skip("no POSIX queue is left; a larger sysctl fs.mqueue.queues_max would allow it");
    probe_skip("no POSIX queue: %s", strerror(errno));
}

/* Without its name as soon as it is open: the partner inherits the descriptor. A queue that is there already was left
 * by a killed run of the same name. */
static mqd_t queue_new(int name_index, uint64_t size)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = (long)size};
    char name[PROBE_IPC_NAME_BYTES];
    probe_ipc_name(name, name_index);
    mq_unlink(name);
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
    if (queue == (mqd_t)-1)
        queue_refused(size);
    mq_unlink(name);
    return queue;
}

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    mqd_t there = queue_new(FIRST_NAME, size), back = queue_new(FIRST_NAME + 1, size);
    (void)run;
    *channel = (struct channel){.out = {there, back}, .in = {back, there}};
    return channel;
}

static inline void channel_send(struct channel *channel, enum party from, unsigned char *message, uint64_t size)
{
    if (mq_send(channel->out[from], (const char *)message, size, 0) != 0)
        probe_fail("cannot send to the queue: %s", strerror(errno));
}

static inline uint64_t channel_receive(struct channel *channel, enum party to, unsigned char *message, uint64_t size)
{
    ssize_t bytes = mq_receive(channel->in[to], (char *)message, size, NULL);
    if (bytes < 0)
        probe_fail("cannot receive from the queue: %s", strerror(errno));
    return (uint64_t)bytes;
}

LATENCY_TIMED(channel_send, channel_receive)

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "POSIX message queue",
        .question = "How long does a message take through POSIX message queues, there and back?",
        .source = "Stevens, UNIX Network Programming vol. 2 (1999), lat_pxmsg",
        .properties = "boundaries=yes,readers=several,when full=sender waits,"
                      "other side gone=not told,hosts=this one,limit=fs.mqueue and ulimit -q",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
