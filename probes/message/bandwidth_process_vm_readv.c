/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_process_vm_readv - one context says where its messages lie, another copies them from its memory.
 *
 * One copy, made by the kernel for the receiver; where the next message lies and that the last one was taken is said
 * through shared memory, with a futex when a side has to wait.
 *
 * Known answer: each message arrives byte for byte although the sender's places are used again.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: the sender has 4 to 32 places, which come to 256 KiB if they can; half of them may wait to be taken. Between
 * threads it copies within one process, which memcpy() would do without the kernel: that row is there for comparison.
 * Assembly: receive_messages contains (call|bl).*<process_vm_readv
 * Source: process_vm_readv(2) of Linux 3.2 (Christopher Yeoh, 2012), made for MPI between processes of one machine. */
#define _GNU_SOURCE
#include "bandwidth.h"
#include "bandwidth_turns.h"

#include <sys/prctl.h>
#include <sys/uio.h>

#define LEAST_PLACES 4
#define MOST_PLACES 32
#define PLACES_BYTES UINT64_C(262144)

struct channel {
    struct turns sender, receiver;
    struct turns_rule rule;
    uint64_t waiting; /* messages that may wait to be taken */
    pid_t pid;        /* of the sender */
    unsigned char *message[MOST_PLACES];
};

static uint64_t places(const struct probe_run *run)
{
    uint64_t size = (uint64_t)probe_integer(run, "size");
    uint64_t number = LEAST_PLACES;
    while (number < MOST_PLACES && 2 * number * size <= PLACES_BYTES)
        number *= 2;
    return number;
}

static bool may_read_own_memory(void)
{
    int from = 1, to = 0;
    struct iovec remote = {&from, sizeof from}, local = {&to, sizeof to};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof to;
}

/* The message that is stamped next must not be one of those that wait, so only half of the places do. */
static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    (void)size;
    if (!may_read_own_memory())
        probe_skip("no process_vm_readv: %s", strerror(errno));
#ifdef PR_SET_PTRACER
    /* Where Yama restricts it (sysctl kernel.yama.ptrace_scope=1) a child may read its parent only if that one agrees.
     * Elsewhere this fails and is not needed. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
#endif
    channel->rule = turns_rule_of(run);
    channel->waiting = places(run) / 2;
    channel->pid = getpid();
    return channel;
}

static inline void channel_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    uint64_t sent = number + 1, waiting = channel->waiting;
    if (sent > waiting)
        turns_await(&channel->sender, &channel->receiver, sent - waiting, sent - waiting / 2, &channel->rule);
    channel->message[number % MOST_PLACES] = buffer_place(out, number);
    turns_pass(&channel->sender, &channel->receiver, &channel->rule);
}

static _Noreturn void refused(void)
{
    if (errno == EPERM)
        probe_skip("the receiver may not read the sender's memory; sysctl kernel.yama.ptrace_scope=0 would allow it");
    probe_fail("cannot read the sender's memory: %s", strerror(errno));
}

static inline __attribute__((always_inline)) uint64_t channel_receive(struct channel *channel, const struct buffer *in,
                                                                      uint64_t number, uint64_t left)
{
    turns_await(&channel->receiver, &channel->sender, number + 1, number + 1, &channel->rule);
    struct iovec remote = {channel->message[number % MOST_PLACES], in->size};
    struct iovec local = {buffer_place(in, number), in->size};
    ssize_t bytes = process_vm_readv(channel->pid, &local, 1, &remote, 1, 0);
    (void)left;
    if (bytes < 0)
        refused();
    turns_pass(&channel->receiver, &channel->sender, &channel->rule);
    return (uint64_t)bytes;
}

BANDWIDTH_TIMED(channel_send, nothing_to_finish, channel_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "copy by process_vm_readv",
        .question = "How many bytes a second does one context copy from another's memory by process_vm_readv?",
        .source = "process_vm_readv(2), Linux 3.2 (2012)",
        .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed, .places = places,
    }, argc, argv);
}
