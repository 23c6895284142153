/* SPDX-License-Identifier: Apache-2.0
 * latency_shm_ring - a message is copied into a ring in shared memory; who finds it empty looks again for a while, then
 * sleeps.
 *
 * One ring in each direction, for one producer and one consumer. A place says by its own number whether there is a
 * message in it, so that only its line has to travel; the producer reads how far the consumer is only when, by what it
 * knew, the ring would be full. With size=1 it is message/latency_shm_spin plus what makes it usable: places that are
 * used in turn, and a consumer that may sleep.
 *
 * Known answer: the message comes back byte for byte. On two CPUs no switches, and one way takes at most 2.5 times as
 * long as a line travels between them; on one CPU two switches, as with a futex, because there nobody looks twice.
 * Overhead: timing single messages, at most 1 %; stamping and checking a message, about 2 ns for each 4096 bytes.
 * Limits: on two CPUs both are busy all the time: about 1 ms of looking comes before a sleep.
 * Assembly: round_trips contains xchg|mfence|stlr
 * Source: Giacomoni, Moseley & Vachharajani, FastForward for Efficient Pipeline Parallelism (PPoPP 2008), for fullness
 * kept in the place; Franke, Russell & Kirkwood (OLS 2002) for the futex. */
#include "latency_slot.h"

#define PLACES 8 /* a power of two, as numbers of messages wrap */
#define LOOKS_ACROSS_CPUS 20000

struct ring {
    struct slot place[PLACES];
    _Alignas(PROBE_CACHE_LINE) uint32_t produced, known_consumed; /* the producer's own */
    _Alignas(PROBE_CACHE_LINE) uint32_t consumed;                 /* the consumer's; the producer reads it when full */
    _Alignas(PROBE_CACHE_LINE) uint32_t sleeps;                   /* futex: the consumer sleeps or is about to */
};

struct channel {
    struct ring from[2];
    int looks, scope;
};

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    (void)size;
    channel->looks = contexts_may_be_apart(run) ? LOOKS_ACROSS_CPUS : 0;
    channel->scope = futex_scope(probe_is(run, "kind", "process"));
    return channel;
}

/* Here one message is on its way at a time, so a full ring is a mistake and nothing to wait for. */
static inline void require_free_place(struct ring *ring)
{
    if (ring->produced - ring->known_consumed < PLACES)
        return;
    ring->known_consumed = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE);
    if (ring->produced - ring->known_consumed >= PLACES)
        probe_fail("the ring is full");
}

/* The number is stored before `sleeps` is read, and by the consumer `sleeps` before the number is read: one of the two
 * sees what the other did. */
static inline void channel_send(struct channel *channel, enum party from, unsigned char *message, uint64_t size)
{
    struct ring *ring = &channel->from[from];
    require_free_place(ring);
    struct slot *place = &ring->place[ring->produced % PLACES];
    slot_fill(place, message, size);
    __atomic_store_n(&place->number, ++ring->produced, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&ring->sleeps, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&ring->sleeps, 0, __ATOMIC_RELAXED);
        futex_wake(&ring->sleeps, 1, channel->scope);
    }
}

static __attribute__((noinline)) void sleep_until(struct ring *ring, const struct slot *place, uint32_t number,
                                                  int scope)
{
    for (;;) {
        __atomic_store_n(&ring->sleeps, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&place->number, __ATOMIC_SEQ_CST) == number)
            break;
        futex_wait(&ring->sleeps, 1, scope);
    }
    __atomic_store_n(&ring->sleeps, 0, __ATOMIC_RELAXED);
}

static inline uint64_t channel_receive(struct channel *channel, enum party to, unsigned char *message, uint64_t size)
{
    struct ring *ring = &channel->from[other_than(to)];
    uint32_t number = ring->consumed + 1;
    const struct slot *place = &ring->place[ring->consumed % PLACES];
    int looks = channel->looks;
    while (__atomic_load_n(&place->number, __ATOMIC_ACQUIRE) != number && looks > 0) {
        look_again();
        looks--;
    }
    if (__atomic_load_n(&place->number, __ATOMIC_ACQUIRE) != number)
        sleep_until(ring, place, number, channel->scope);
    uint64_t bytes = slot_empty(place, message, size);
    __atomic_store_n(&ring->consumed, number, __ATOMIC_RELEASE); /* the place may be used again */
    return bytes;
}

LATENCY_TIMED(channel_send, channel_receive)

int main(int argc, char **argv)
{
    return latency_main(&(const struct way){
        .title = "ring in shared memory",
        .question = "How long does a message take through rings in shared memory, there and back?",
        .source = "Giacomoni, Moseley & Vachharajani, FastForward (PPoPP 2008); Franke, Russell & Kirkwood (OLS 2002)",
        .properties = "boundaries=yes or no,readers=one,when full=sender waits,"
                      "other side gone=not told,hosts=this one",
        .placements = "same,cross,free", .uses = "cpu,sched,ipc",
        .create = channel_new, .timed = &timed,
    }, argc, argv);
}
