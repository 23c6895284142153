/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_shm_ring - one context copies messages into a ring in shared memory, another copies them out.
 *
 * Two copies as with a pipe, but no system call unless the ring is empty or full: what the kernel costs in a pipe is
 * the difference. Copied in and out, because a message that is only pointed at has not been moved.
 *
 * Between two CPUs the copy in decides. An ordinary store to a line that the receiver has read waits until the line has
 * come back, only to overwrite all of it: each line travels twice. Streaming stores (stores=streaming) write whole
 * lines past the caches, so that it travels once; and so they are what a ring between CPUs uses unless told otherwise
 * (stores=automatic). On one CPU, where the line is still in the cache, they would only lose it. And the count is told
 * for `tell` bytes of messages at once, since telling waits for all stores before it. Between two CPUs of a virtual
 * EPYC 9004, messages of 4 KiB: 2.0 to 7.5 GB/s with ordinary stores, by where the host keeps the two; 11 to 12.7
 * streaming and told one by one (tell=1); 19 to 21 as it is, of 24 with a ring of 1 MiB and tell=65536; the pipe 1.4 to
 * 5.2.
 *
 * Known answer: each message arrives byte for byte, with its length.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver.
 * Limits: the ring holds `capacity` bytes, but at least two messages. On one CPU there are two switches for a ring full
 * of messages, and its size decides: at 64 KiB, what a pipe holds, it is a quarter as fast as at 1 MiB. Streaming
 * stores are those of x86-64; elsewhere automatic means ordinary.
 * Assembly: send_messages contains (call|bl).*<memcpy
 * Assembly: send_messages contains movntdq|bl.*<memcpy
 * Assembly: receive_messages contains (call|bl).*<memcpy
 * Source: Lamport, Specifying Concurrent Program Modules (TOPLAS 5(2), 1983): one producer and one consumer need no
 * lock; the futex for the idle side after Franke, Russell & Kirkwood (OLS 2002). Streaming stores against the
 * reading of lines that are overwritten: Drepper, What Every Programmer Should Know About Memory (2007), section
 * 6.1. */
#include "bandwidth.h"
#include "bandwidth_turns.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define LEAST_MESSAGES 2

/* The length stands in a line of its own before each message. */
struct slot {
    _Alignas(PROBE_CACHE_LINE) uint64_t bytes;
    _Alignas(PROBE_CACHE_LINE) unsigned char message[];
};

struct side {
    struct turns turns;
    _Alignas(PROBE_CACHE_LINE) uint64_t slot; /* the next one of this side; saves a division a message */
    uint64_t through;                         /* messages that this side is through with, told or not */
};

struct channel {
    struct side sender, receiver;
    struct turns_rule rule;
    uint64_t slots, stride, told_at_once; /* so many messages are told of together */
    bool streaming;
    unsigned char *ring;
};

static bool streams(const struct probe_run *run)
{
#if defined(__x86_64__)
    return probe_is(run, "stores", "streaming") ||
           (probe_is(run, "stores", "automatic") && contexts_may_be_apart(run));
#else
    if (probe_is(run, "stores", "streaming"))
        probe_skip("stores past the caches are known to this probe for x86-64 alone");
    return false;
#endif
}

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    uint64_t lines = (size + PROBE_CACHE_LINE - 1) / PROBE_CACHE_LINE;
    uint64_t fitting = (uint64_t)probe_integer(run, "capacity") / size;
    channel->rule = turns_rule_of(run);
    channel->slots = fitting < LEAST_MESSAGES ? LEAST_MESSAGES : fitting;
    channel->stride = sizeof(struct slot) + lines * PROBE_CACHE_LINE;
    uint64_t in_share = (uint64_t)probe_integer(run, "tell") / size, quarter = channel->slots / 4;
    channel->told_at_once = in_share < 1 || quarter < 1 ? 1 : in_share < quarter ? in_share : quarter;
    channel->streaming = streams(run);
    channel->ring = probe_share(channel->slots * channel->stride);
    return channel;
}

static inline struct slot *next_slot(const struct channel *channel, struct side *side)
{
    struct slot *slot = (struct slot *)(channel->ring + side->slot * channel->stride);
    side->slot = side->slot + 1 == channel->slots ? 0 : side->slot + 1;
    return slot;
}

static inline void slot_fill(struct slot *slot, const unsigned char *message, uint64_t size)
{
    slot->bytes = size;
    memcpy(slot->message, message, size);
}

/* In whole lines, the length's as well: a line that is written in part would have to be fetched after all. Slots and
 * buffers have room to the end of the last line. Streaming stores come in no order: a fence must be passed before the
 * message is told of. */
static inline void slot_fill_streaming(struct slot *slot, const unsigned char *message, uint64_t size)
{
#if defined(__x86_64__)
    __m128i *to = (__m128i *)slot;
    const __m128i *from = (const __m128i *)message;
    _mm_stream_si128(to++, _mm_set_epi64x(0, (long long)size));
    for (uint64_t i = 1; i < PROBE_CACHE_LINE / sizeof *to; i++)
        _mm_stream_si128(to++, _mm_setzero_si128());
    for (uint64_t lines = (size + PROBE_CACHE_LINE - 1) / PROBE_CACHE_LINE; lines > 0; lines--)
        for (uint64_t i = 0; i < PROBE_CACHE_LINE / sizeof *to; i++)
            _mm_stream_si128(to++, _mm_load_si128(from++));
#else
    slot_fill(slot, message, size);
#endif
}

static inline void streams_end(void)
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

/* What one side has done is told to the other a few messages at a time, but before it waits or ends: the line with the
 * count has to travel, and telling waits until all stores before it have arrived. */
static inline void tell(struct side *own, struct side *other, const struct turns_rule *rule)
{
    if (own->turns.count == own->through)
        return;
    streams_end();
    turns_pass_to(&own->turns, &other->turns, own->through, rule);
}

static inline void step(struct channel *channel, struct side *own, struct side *other)
{
    own->through++;
    if (own->through - own->turns.count >= channel->told_at_once)
        tell(own, other, &channel->rule);
}

static inline void await_turn(struct channel *channel, struct side *own, struct side *other, uint64_t enough,
                              uint64_t until)
{
    if (own->turns.seen >= enough)
        return;
    tell(own, other, &channel->rule);
    turns_await(&own->turns, &other->turns, enough, until, &channel->rule);
}

static inline __attribute__((always_inline)) void channel_send(struct channel *channel, const struct buffer *out,
                                                               uint64_t number)
{
    uint64_t sent = number + 1, slots = channel->slots;
    if (sent > slots)
        await_turn(channel, &channel->sender, &channel->receiver, sent - slots, sent - slots / 2);
    struct slot *slot = next_slot(channel, &channel->sender);
    if (channel->streaming)
        slot_fill_streaming(slot, buffer_place(out, number), out->size);
    else
        slot_fill(slot, buffer_place(out, number), out->size);
    step(channel, &channel->sender, &channel->receiver);
}

static inline void channel_finish(struct channel *channel, const struct buffer *out, uint64_t next)
{
    (void)out, (void)next;
    tell(&channel->sender, &channel->receiver, &channel->rule);
}

static inline __attribute__((always_inline)) uint64_t channel_receive(struct channel *channel, const struct buffer *in,
                                                                      uint64_t number, uint64_t left)
{
    await_turn(channel, &channel->receiver, &channel->sender, number + 1, number + 1);
    const struct slot *slot = next_slot(channel, &channel->receiver);
    uint64_t bytes = slot->bytes;
    if (bytes > in->size)
        probe_fail("a message in the ring is longer than any that was sent");
    memcpy(buffer_place(in, number), slot->message, bytes);
    step(channel, &channel->receiver, &channel->sender);
    if (left == 1)
        tell(&channel->receiver, &channel->sender, &channel->rule);
    return bytes;
}

BANDWIDTH_TIMED(channel_send, channel_finish, channel_receive)

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "ring in shared memory",
        .question = "How many bytes a second go through a ring in shared memory?",
        .source = "Lamport, Specifying Concurrent Program Modules (TOPLAS 1983); Franke, Russell & Kirkwood (OLS 2002)",
        .uses = "cpu,sched,ipc",
        .param = {
            {.name = "capacity", .doc = "bytes of messages that the ring holds, at least two messages", .unit = "B",
             .sweep = "262144", .min = 4096, .max = 67108864},
            {.name = "tell", .doc = "bytes of messages that are told of together, at most a quarter of the ring",
             .unit = "B", .sweep = "32768", .min = 1, .max = 67108864},
            {.name = "stores",
             .doc = "how the message is copied in: by stores to the cache or past it; automatic is past it between two "
                    "CPUs",
             .choices = "automatic,ordinary,streaming", .sweep = "automatic"}},
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
