/* SPDX-License-Identifier: Apache-2.0
 * latency_shm_spin - a message is copied to shared memory, where the other CPU looks for it without pause.
 *
 * What a message costs when nobody sleeps and the kernel has no part in it: the line with the number is taken from the
 * reader's cache to be written, and fetched back. Other placements than two CPUs make no sense: on one, each would look
 * until its time slice ends.
 *
 * Known answer: the message comes back byte for byte; no switches. One way takes at most 2.5 times as long as a line
 * travels from one CPU to another.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: two CPUs that are busy all the time. Whoever else runs on one of them stops the other for a time slice: that
 * is what the tails show.
 * Assembly: round_trips contains pause|yield
 * Source: the shared-memory way of ipc-bench (goldsborough/ipc-bench). */
#include "latency_slot.h"

struct channel {
    struct slot from[2];
    struct {
        _Alignas(PROBE_CACHE_LINE) uint32_t number; /* of the last message that this party took */
    } taken[2];
};

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    (void)run, (void)size;
    return probe_share(sizeof(struct channel));
}

static inline void channel_send(struct channel *channel, enum party from, unsigned char *message, uint64_t size)
{
    struct slot *slot = &channel->from[from];
    slot_fill(slot, message, size);
    __atomic_store_n(&slot->number, slot->number + 1, __ATOMIC_RELEASE); /* pairs with the load in channel_receive */
}

static inline uint64_t channel_receive(struct channel *channel, enum party to, unsigned char *message, uint64_t size)
{
    const struct slot *slot = &channel->from[other_than(to)];
    uint32_t last = channel->taken[to].number;
    while (__atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) == last)
        look_again();
    channel->taken[to].number = last + 1;
    return slot_empty(slot, message, size);
}

LATENCY_TIMED(channel_send, channel_receive)

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "shared memory, spinning",
        .question = "How long does a message in shared memory take between two CPUs that look for it, there and back?",
        .source = "ipc-bench, shared memory (goldsborough/ipc-bench)",
        .properties = "boundaries=yes or no,readers=one,when full=sender waits,"
                      "other side gone=not told,hosts=this one",
        .placements = "cross", .uses = "cpu,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
