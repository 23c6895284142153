/* SPDX-License-Identifier: Apache-2.0
 * latency_futex - a message is copied to shared memory, and a futex wakes who waits for it.
 *
 * Known answer: the message comes back byte for byte; two switches a round trip on one CPU.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: every message wakes, also when the other is awake. On two CPUs the time is mostly that of waking an idle CPU.
 * Assembly: round_trips contains (call|bl).*<syscall
 * Source: Franke, Russell & Kirkwood, Fuss, Futexes and Furwocks (OLS 2002); Drepper, Futexes Are Tricky (2011), for
 * the loop around the wait. */
#include "latency_slot.h"

struct channel {
    struct slot from[2];
    int scope;
    struct {
        _Alignas(PROBE_CACHE_LINE) uint32_t number; /* of the last message that this party took */
    } taken[2];
};

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    (void)size;
    channel->scope = futex_scope(probe_is(run, "kind", "process"));
    return channel;
}

static inline void channel_send(struct channel *channel, enum party from, unsigned char *message, uint64_t size)
{
    struct slot *slot = &channel->from[from];
    slot_fill(slot, message, size);
    __atomic_store_n(&slot->number, slot->number + 1, __ATOMIC_RELEASE); /* pairs with the load in channel_receive */
    futex_wake(&slot->number, 1, channel->scope);
}

static inline uint64_t channel_receive(struct channel *channel, enum party to, unsigned char *message, uint64_t size)
{
    const struct slot *slot = &channel->from[other_than(to)];
    uint32_t last = channel->taken[to].number;
    while (__atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) == last)
        futex_wait(&slot->number, last, channel->scope);
    channel->taken[to].number = last + 1;
    return slot_empty(slot, message, size);
}

LATENCY_TIMED(channel_send, channel_receive)

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "shared memory and futex",
        .question = "How long does a message in shared memory take with a futex for a bell, there and back?",
        .source = "Franke, Russell & Kirkwood, Fuss, Futexes and Furwocks (OLS 2002)",
        .properties = "boundaries=yes or no,readers=one,when full=sender waits,"
                      "other side gone=not told,hosts=this one",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
