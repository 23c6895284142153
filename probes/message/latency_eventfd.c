/* SPDX-License-Identifier: Apache-2.0
 * latency_eventfd - a message is copied to shared memory, and an event counter wakes who waits for it.
 *
 * The sender adds the length of the message and the receiver takes all that is there: two messages that ran together
 * would show as one that is too long.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: the blocking, non-semaphore mode only. On two CPUs the time is mostly that of waking an idle CPU.
 * Assembly: round_trips contains (call|bl).*<(read|write)
 * Source: eventfd(2), which offers itself in place of a pipe that only signals. */
#include "latency_slot.h"

#include <sys/eventfd.h>

struct channel {
    struct slot from[2];
    int bell[2]; /* rung by the party of that number */
};

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    (void)run, (void)size;
    for (int party = CALLER; party <= PARTNER; party++)
        if ((channel->bell[party] = eventfd(0, EFD_CLOEXEC)) < 0)
            probe_skip("no eventfd: %s", strerror(errno));
    return channel;
}

static inline void channel_send(struct channel *channel, enum party from, unsigned char *message, uint64_t size)
{
    slot_fill(&channel->from[from], message, size);
    if (write(channel->bell[from], &size, sizeof size) != sizeof size)
        probe_fail("cannot write to the eventfd: %s", strerror(errno));
}

static inline uint64_t channel_receive(struct channel *channel, enum party to, unsigned char *message, uint64_t size)
{
    uint64_t bytes;
    if (read(channel->bell[other_than(to)], &bytes, sizeof bytes) != sizeof bytes)
        probe_fail("cannot read from the eventfd: %s", strerror(errno));
    if (bytes != slot_empty(&channel->from[other_than(to)], message, size))
        probe_fail("the eventfd and the message do not agree about its length");
    return bytes;
}

LATENCY_TIMED(channel_send, channel_receive)

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "shared memory and eventfd",
        .question = "How long does a message in shared memory take with an eventfd for a bell, there and back?",
        .source = "eventfd(2)",
        .properties = "boundaries=yes or no,readers=one,when full=sender waits,"
                      "other side gone=not told,hosts=this one",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
