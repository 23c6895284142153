/* SPDX-License-Identifier: Apache-2.0
 * latency_slot.h - one place for a message in shared memory, for mechanisms that only say that it is there.
 *
 * Up to 56 bytes lie in the cache line of the number that says which message this is: one line travels, not two. The
 * receiver writes nothing into it, or the line would have to be fetched back before the next message. */
#ifndef STEELYARD_MESSAGE_LATENCY_SLOT_H
#define STEELYARD_MESSAGE_LATENCY_SLOT_H

#include "latency.h"

struct slot {
    _Alignas(PROBE_CACHE_LINE) uint32_t number; /* counts the messages; the first is 1 */
    uint32_t bytes;
    unsigned char message[LATENCY_MAX_BYTES];
};

/* Copied in and copied out, as by the kernel: a message that the receiver only looks at would still be the sender's. */
static inline void slot_fill(struct slot *slot, const unsigned char *message, uint64_t size)
{
    slot->bytes = (uint32_t)size;
    if (size == 1) /* a call of memcpy is 2 ns, of 75 for a line to travel */
        slot->message[0] = message[0];
    else
        memcpy(slot->message, message, size);
}

static inline uint64_t slot_empty(const struct slot *slot, unsigned char *message, uint64_t size)
{
    uint64_t bytes = slot->bytes;
    if (bytes > size)
        probe_fail("a message is longer than any that was sent");
    if (bytes == 1)
        message[0] = slot->message[0];
    else
        memcpy(message, slot->message, bytes);
    return bytes;
}

/* Who looks at a word in a loop tells the processor so: it neither starves the thread beside it nor guesses ahead. */
static inline void look_again(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
