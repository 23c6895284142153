/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_shm_ring - one context copies messages into a ring in shared memory, another copies them out.
 *
 * Two copies as with a pipe, but no system call unless the ring is empty or full: what the kernel costs in a pipe is
 * the difference. Copied in and out, because a message that is only pointed at has not been moved.
 *
 * Known answer: each message arrives byte for byte, with its length.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: the ring holds `capacity` bytes, but at least two messages. On one CPU there are two switches for a ring full
 * of messages, and its size decides: at 64 KiB, what a pipe holds, it is a quarter as fast as at 1 MiB. On two CPUs it
 * is what the caches pass to each other, so that a pipe that does not sleep comes close.
 * Assembly: send_messages contains (call|bl).*<memcpy
 * Assembly: receive_messages contains (call|bl).*<memcpy
 * Source: Lamport, Specifying Concurrent Program Modules (TOPLAS 5(2), 1983): one producer and one consumer need no
 * lock; the futex for the idle side after Franke, Russell & Kirkwood (OLS 2002). */
#include "bandwidth.h"
#include "bandwidth_turns.h"

#define LEAST_MESSAGES 2

/* The length stands in a line of its own before each message. */
struct slot {
    _Alignas(PROBE_CACHE_LINE) uint64_t bytes;
    _Alignas(PROBE_CACHE_LINE) unsigned char message[];
};

struct side {
    struct turns turns;
    _Alignas(PROBE_CACHE_LINE) uint64_t slot; /* the next one of this side; saves a division a message */
};

struct channel {
    struct side sender, receiver;
    struct turns_rule rule;
    uint64_t slots, stride;
    unsigned char *ring;
};

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    uint64_t lines = (size + PROBE_CACHE_LINE - 1) / PROBE_CACHE_LINE;
    uint64_t fitting = (uint64_t)probe_integer(run, "capacity") / size;
    channel->rule = turns_rule_of(run);
    channel->slots = fitting < LEAST_MESSAGES ? LEAST_MESSAGES : fitting;
    channel->stride = sizeof(struct slot) + lines * PROBE_CACHE_LINE;
    channel->ring = probe_share(channel->slots * channel->stride);
    return channel;
}

static inline struct slot *next_slot(const struct channel *channel, struct side *side)
{
    struct slot *slot = (struct slot *)(channel->ring + side->slot * channel->stride);
    side->slot = side->slot + 1 == channel->slots ? 0 : side->slot + 1;
    return slot;
}

static inline void channel_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    uint64_t sent = number + 1, slots = channel->slots;
    if (sent > slots)
        turns_await(&channel->sender.turns, &channel->receiver.turns, sent - slots, sent - slots / 2, &channel->rule);
    struct slot *slot = next_slot(channel, &channel->sender);
    slot->bytes = out->size;
    memcpy(slot->message, buffer_place(out, number), out->size);
    turns_pass(&channel->sender.turns, &channel->receiver.turns, &channel->rule);
}

BANDWIDTH_NOTHING_TO_FINISH

static inline uint64_t channel_receive(struct channel *channel, const struct buffer *in, uint64_t number, uint64_t left)
{
    (void)left;
    turns_await(&channel->receiver.turns, &channel->sender.turns, number + 1, number + 1, &channel->rule);
    const struct slot *slot = next_slot(channel, &channel->receiver);
    uint64_t bytes = slot->bytes;
    if (bytes > in->size)
        probe_fail("a message in the ring is longer than any that was sent");
    memcpy(buffer_place(in, number), slot->message, bytes);
    turns_pass(&channel->receiver.turns, &channel->sender.turns, &channel->rule);
    return bytes;
}

static const struct probe bandwidth_shm_ring = {
    .question = "How many bytes a second go through a ring in shared memory?",
    .source = "Lamport, Specifying Concurrent Program Modules (TOPLAS 1983); Franke, Russell & Kirkwood (OLS 2002)",
    .uses = "cpu,sched,ipc",
    BANDWIDTH_COMMON,
    .metrics = (const struct probe_metric[]){BANDWIDTH_METRICS, {0}},
    .params = (const struct probe_param[]){
        BANDWIDTH_PARAMS(BANDWIDTH_SIZES, MAX_MESSAGE),
        {.name = "capacity", .doc = "bytes of messages that the ring holds, at least two messages", .unit = "B",
         .sweep = "262144", .min = 4096, .max = 67108864},
        {0}},
    .batch = bandwidth_batch,
    .teardown = bandwidth_teardown,
    .selftest = bandwidth_selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&bandwidth_shm_ring, argc, argv);
}
