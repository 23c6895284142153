/* SPDX-License-Identifier: Apache-2.0
 * latency_signal - a message is copied to shared memory, and a queued real-time signal wakes who waits for it.
 *
 * The signal carries the length of the message. It is sent to a process by sigqueue(), to a thread by
 * pthread_sigqueue(), is blocked everywhere and fetched by sigwaitinfo(): no handler runs.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: not what a handler costs, which needs a frame on the stack and a system call to return from it.
 * Assembly: round_trips contains (call|bl).*<sigwaitinfo
 * Assembly: round_trips contains (call|bl).*<sigqueue
 * Source: sigqueue(3), sigwaitinfo(2), POSIX.1-2001 real-time signals; lmbench lat_sig has the handler's side. */
#define _GNU_SOURCE
#include "latency_slot.h"

#include <pthread.h>

struct channel {
    struct slot from[2];
    bool processes;
    sigset_t bell;
    pid_t process[2];
    pthread_t thread[2];
};

/* Blocked here, before the partner is started, it is blocked in both. */
static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    (void)size;
    channel->processes = probe_is(run, "kind", "process");
    sigemptyset(&channel->bell);
    sigaddset(&channel->bell, SIGRTMIN);
    if (pthread_sigmask(SIG_BLOCK, &channel->bell, NULL) != 0)
        probe_fail("cannot block a signal");
    return channel;
}

static void channel_join(struct channel *channel, enum party party)
{
    channel->process[party] = getpid();
    channel->thread[party] = pthread_self();
}

static inline void channel_send(struct channel *channel, enum party from, unsigned char *message, uint64_t size)
{
    enum party to = other_than(from);
    const union sigval length = {.sival_int = (int)size};
    slot_fill(&channel->from[from], message, size);
    int error = !channel->processes ? pthread_sigqueue(channel->thread[to], SIGRTMIN, length)
                : sigqueue(channel->process[to], SIGRTMIN, length) != 0 ? errno : 0;
    if (error == EAGAIN)
        probe_skip("no signal can be queued: ulimit -i is reached");
    if (error)
        probe_fail("cannot send a signal: %s", strerror(error));
}

static inline uint64_t channel_receive(struct channel *channel, enum party to, unsigned char *message, uint64_t size)
{
    siginfo_t signal_info;
    while (sigwaitinfo(&channel->bell, &signal_info) < 0)
        if (errno != EINTR)
            probe_fail("cannot wait for a signal: %s", strerror(errno));
    uint64_t bytes = slot_empty(&channel->from[other_than(to)], message, size);
    if (bytes != (uint64_t)signal_info.si_value.sival_int)
        probe_fail("the signal and the message do not agree about its length");
    return bytes;
}

LATENCY_TIMED(channel_send, channel_receive)

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "shared memory and a signal",
        .question = "How long does a message in shared memory take with a queued signal for a bell, there and back?",
        .source = "sigqueue(3), sigwaitinfo(2); POSIX.1-2001 real-time signals",
        .properties = "boundaries=yes or no,readers=one,when full=sender waits,"
                      "other side gone=not told,hosts=this one,limit=ulimit -i",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed, .join = channel_join,
    }, argc, argv);
}
