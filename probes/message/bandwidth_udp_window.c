/* SPDX-License-Identifier: Apache-2.0
 * bandwidth_udp_window - datagrams over loopback, several on their way at once; what is lost is counted and sent again.
 *
 * The simplest protocol with a window: the receiver takes datagrams in order only, and acknowledges every half window
 * what it has; the sender goes back to the first that is not acknowledged when nothing came for a while.
 *
 * Known answer: each message arrives byte for byte, once and in order, also when (in the selftest) every seventh send
 * is left out. With the default window nothing is lost: it fits into the receiver's socket buffer.
 * Overhead: a store and a comparison every 4096 bytes, by the sender and by the receiver; one acknowledgement every
 * half window is part of the way.
 * Limits: a loss costs a wait of PATIENCE_US, so a window that loses measures that wait. Datagrams on their way are
 * window / size, but at least 2 and at most 64. `lost` is the kernel's own count of datagrams that it dropped at the
 * receiver's socket.
 * Assembly: transmit contains (call|bl).*<send
 * Assembly: receive_messages contains (call|bl).*<recv
 * Source: go-back-N as in Tanenbaum & Wetherall, Computer Networks (5th ed., 2011), 3.4.2; Steelyard's first seed 001,
 * whose UDP was stop and wait. */
#include "bandwidth_udp.h"

#include <linux/sock_diag.h>

#define LEAST_WINDOW 2
#define LARGEST_WINDOW 64
#define PATIENCE_US 5000
#define ROUNDS_WITHOUT_PROGRESS 2000
#define PLANTED_LOSS 7 /* every so many sends are left out in the selftest */

struct channel {
    int receiving, sending;
    uint64_t window;
    struct {
        _Alignas(PROBE_CACHE_LINE) uint64_t acknowledged, sends, resent;
        uint64_t left_out; /* leave out every so many sends; 0 is none */
    } sender;
    struct {
        _Alignas(PROBE_CACHE_LINE) uint64_t unacknowledged;
    } receiver;
};

static uint64_t window_of(const struct probe_run *run)
{
    uint64_t datagrams = (uint64_t)probe_integer(run, "window") / (uint64_t)probe_integer(run, "size");
    return datagrams < LEAST_WINDOW ? LEAST_WINDOW : datagrams > LARGEST_WINDOW ? LARGEST_WINDOW : datagrams;
}

/* What is not acknowledged may have to be sent again. */
static uint64_t places(const struct probe_run *run)
{
    return window_of(run) + 1;
}

static struct channel *channel_new(const struct probe_run *run, uint64_t size)
{
    struct channel *channel = probe_share(sizeof *channel);
    (void)size;
    struct ends ends = udp_pair();
    channel->receiving = ends.called;
    channel->sending = ends.calling;
    udp_patience(channel->sending, (struct timeval){.tv_usec = PATIENCE_US});
    channel->window = window_of(run);
    return channel;
}

static __attribute__((noinline)) void transmit(struct channel *channel, const struct buffer *out, uint64_t number)
{
    uint64_t sends = ++channel->sender.sends;
    if (channel->sender.left_out == 0 || sends % channel->sender.left_out != 0)
        udp_send(channel->sending, buffer_place(out, number), out->size);
}

/* Take one acknowledgement, or go back when none came; then those that have come meanwhile. */
static bool take_acknowledgements(struct channel *channel, const struct buffer *out, uint64_t next)
{
    uint64_t before = channel->sender.acknowledged, received;
    int flags = 0;
    while (recv(channel->sending, &received, sizeof received, flags) == sizeof received) {
        if (received > channel->sender.acknowledged && received <= next)
            channel->sender.acknowledged = received;
        flags = MSG_DONTWAIT;
    }
    if (errno != EAGAIN && errno != EINTR)
        probe_fail("cannot receive an acknowledgement: %s", strerror(errno));
    if (flags == 0)
        for (uint64_t number = channel->sender.acknowledged; number < next; number++, channel->sender.resent++)
            transmit(channel, out, number);
    return channel->sender.acknowledged != before;
}

/* Wait until at most `unacknowledged` of the messages before `next` are. */
static inline void wait_for_window(struct channel *channel, const struct buffer *out, uint64_t next,
                                   uint64_t unacknowledged)
{
    int rounds = 0;
    while (next - channel->sender.acknowledged > unacknowledged)
        if (take_acknowledgements(channel, out, next))
            rounds = 0;
        else if (++rounds == ROUNDS_WITHOUT_PROGRESS)
            probe_fail("no new acknowledgement in %d rounds", ROUNDS_WITHOUT_PROGRESS);
}

static inline void channel_send(struct channel *channel, const struct buffer *out, uint64_t number)
{
    wait_for_window(channel, out, number, channel->window - 1);
    transmit(channel, out, number);
}

static inline void channel_finish(struct channel *channel, const struct buffer *out, uint64_t next)
{
    wait_for_window(channel, out, next, 0);
}

static void acknowledge(struct channel *channel, uint64_t next)
{
    udp_send(channel->receiving, &next, sizeof next);
    channel->receiver.unacknowledged = 0;
}

/* A number that has been here before means that the sender went back too far or lost an acknowledgement: say again how
 * far it is. One from behind a gap is useless, the sender will come back to it. */
static inline uint64_t channel_receive(struct channel *channel, const struct buffer *in, uint64_t number, uint64_t left)
{
    unsigned char *message = buffer_place(in, number);
    uint64_t arrived;
    ssize_t bytes;
    do {
        bytes = recv(channel->receiving, message, in->size, 0);
        if (bytes < (ssize_t)sizeof arrived)
            probe_fail("cannot receive: %s", bytes < 0 ? strerror(errno) : "a datagram is too short");
        memcpy(&arrived, message, sizeof arrived);
        if (arrived < number)
            acknowledge(channel, number);
    } while (arrived != number);
    if (++channel->receiver.unacknowledged >= channel->window / 2 || left == 1)
        acknowledge(channel, number + 1);
    return (uint64_t)bytes;
}

BANDWIDTH_TIMED(channel_send, channel_finish, channel_receive)

static uint64_t dropped(const struct channel *channel)
{
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    if (getsockopt(channel->receiving, SOL_SOCKET, SO_MEMINFO, memory, &(socklen_t){sizeof memory}) != 0)
        probe_skip("this kernel does not say how many datagrams it dropped (SO_MEMINFO): %s", strerror(errno));
    return memory[SK_MEMINFO_DROPS];
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct transfer *t = run->state;
    uint64_t lost = dropped(t->channel), resent = t->channel->sender.resent;
    bandwidth_batch(run, operations, value);
    probe_count(value, "lost", (uint32_t)(dropped(t->channel) - lost));
    probe_count(value, "resent", t->channel->sender.resent - resent);
}

/* Losses that were planted: the proof at the start of a run must come out right all the same. */
static void selftest(struct probe_run *run)
{
    bandwidth_selftest(run);
    bandwidth_setup(run);
    struct transfer *t = run->state;
    t->channel->sender.left_out = PLANTED_LOSS;
    prove_contents(t);
    if (t->channel->sender.resent == 0)
        probe_fail("every %dth datagram was left out and none was sent again", PLANTED_LOSS);
    bandwidth_teardown(run);
}

int main(int argc, char **argv)
{
    return bandwidth_main(&(const struct way){
        .title = "UDP with a window",
        .question = "How many bytes a second does UDP carry when several datagrams are on their way?",
        .source = "go-back-N (Tanenbaum & Wetherall, Computer Networks, 2011); Steelyard's first seed 001",
        .uses = "cpu,sched,ipc,net",
        .sizes = UDP_SIZES, .largest = UDP_LARGEST,
        .metric = {
            {"lost_per_message", "1", "lower", "lost", "operations",
             "datagrams that the kernel dropped for want of room, divided by the messages"},
            {"resent_per_message", "1", "lower", "resent", "operations",
             "datagrams sent again, divided by the messages"}},
        .param = {
            {.name = "window", .doc = "bytes on their way at once; 2 to 64 datagrams", .unit = "B", .sweep = "65536",
             .min = 1, .max = 4194304}},
        .create = channel_new, .timed = &timed, .places = places, .batch = batch, .selftest = selftest,
    }, argc, argv);
}
