/* SPDX-License-Identifier: Apache-2.0
 * bandwidth.h - messages of one size go from one context to another, as fast as the way between them lets them.
 *
 * The sender is the probe's first thread, the receiver a live context for the whole run, which is told a batch through
 * shared memory how many messages to expect and says when it is about to receive. Time runs from before the first send
 * until the receiver, by its own reading of the same clock, has the last byte; what the two say to each other before
 * and after is outside.
 *
 * Every byte is counted where it arrives. Three proofs of the contents: before the first batch messages that are all
 * different are compared byte by byte; in a batch the first word of each page is the number of the message and is
 * looked at (touch=stride), or all words are added up (touch=all), which is also what it costs to read what came.
 * Memory that is merely mapped would otherwise seem infinitely fast.
 *
 * Both buffers are page aligned, touched before, and used again and again, as lmbench and Stevens do: their contents
 * come from the caches. Every buffer in the kernel keeps its default size. */
#ifndef STEELYARD_MESSAGE_BANDWIDTH_H
#define STEELYARD_MESSAGE_BANDWIDTH_H

#include "contexts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE_BYTES UINT64_C(4096) /* distance of the stamps; the machine's own pages may be larger */
#define WORD_BYTES sizeof(uint64_t)
#define PROOF_BYTES (UINT64_C(256) * 1024) /* more than a pipe or socket holds by default */
#define PROOF_MESSAGES 256                 /* at most so many of them, and every place twice */
#define MAX_MESSAGE 1048576
#define BANDWIDTH_SIZES "1024,2048,4096,8192,16384,32768,65536"

/* Room for so many messages, a power of two, and for an envelope in front of the first. */
struct buffer {
    unsigned char *first;
    uint64_t size, stride, places;
};

static inline unsigned char *buffer_place(const struct buffer *buffer, uint64_t number)
{
    return buffer->first + (number & (buffer->places - 1)) * buffer->stride;
}

/* What the probe made for messages to go through, in shared memory; what is in it is the probe's own matter. Messages
 * are numbered from 0 and never skipped; the buffers are each side's own. */
struct channel;
typedef void send_function(struct channel *channel, const struct buffer *out, uint64_t number);
/* The sender, after the last message of a batch, `next` - 1: whatever has not gone goes now. */
typedef void finish_function(struct channel *channel, const struct buffer *out, uint64_t next);
/* `left` messages are still to come in this batch, this one included. Returns how many bytes came. */
typedef uint64_t receive_function(struct channel *channel, const struct buffer *in, uint64_t number, uint64_t left);

/* Defined in the probe by BANDWIDTH_TIMED. */
struct transfer;
struct timed {
    send_function *send;
    finish_function *finish;
    receive_function *receive;
    void (*send_messages)(struct transfer *t, uint64_t messages);
    void (*receive_messages)(const struct transfer *t, uint64_t first, uint64_t messages);
};

/* One way to send: what a probe hands to bandwidth_main(). */
struct way {
    const char *title, *question, *source, *uses; /* as in struct probe */
    const char *sizes;                    /* optional: other default sizes than BANDWIDTH_SIZES */
    int64_t largest;                      /* optional: another limit than MAX_MESSAGE */
    struct probe_metric metric[2];        /* optional: further ones */
    struct probe_param param[3];          /* optional: further ones */
    /* optional: how many messages have a place of their own in the sender's buffer, and in the receiver's, where a
     * message is still needed after its send returned; else 1 */
    uint64_t (*places)(const struct probe_run *run);
    struct channel *(*create)(const struct probe_run *run, uint64_t size); /* before the receiver is started */
    const struct timed *timed;
    void (*remove)(struct channel *channel); /* optional: at the end, when the receiver is gone */
    /* optional: instead of bandwidth_batch() and bandwidth_selftest(), which they call */
    void (*batch)(struct probe_run *run, uint64_t operations, struct probe_value *value);
    void (*selftest)(struct probe_run *run);
};
static const struct way *way; /* the one of this program; set by bandwidth_main() */

enum order_kind { ORDER_BATCH, ORDER_PROOF, ORDER_STOP };

/* Shared. The sender writes the order, the receiver the report. */
struct conversation {
    _Alignas(PROBE_CACHE_LINE) uint32_t ordered;
    enum order_kind kind;
    uint64_t messages;
    _Alignas(PROBE_CACHE_LINE) uint32_t ready;
    _Alignas(PROBE_CACHE_LINE) uint32_t done;
    uint64_t end_ns, right, bytes;
    struct switches before, after;
    int cpu[2]; /* on which the receiver began and ended */
};

struct transfer {
    struct channel *channel;
    struct conversation *talk;
    struct contexts *receiver;
    struct buffer out, in, expected;
    bool touch_all;
    int scope;
    uint32_t orders;
    uint64_t next;     /* number of the next message */
    uint64_t base_sum; /* of a message whose stamps are 0 */
};

/* --- contents ------------------------------------------------------------------------------------------------ */

static void stamp(unsigned char *message, uint64_t size, uint64_t number)
{
    for (uint64_t at = 0; at + WORD_BYTES <= size; at += PAGE_BYTES)
        *(uint64_t *)(message + at) = number;
}

static uint64_t stamps(uint64_t size)
{
    return (size - WORD_BYTES) / PAGE_BYTES + 1;
}

/* Differs in every word and from every other message; stamped like those of a batch. */
static void fill(unsigned char *message, uint64_t size, uint64_t number)
{
    uint64_t *word = (uint64_t *)message, whole = size / WORD_BYTES;
    for (uint64_t i = 0; i < whole; i++)
        word[i] = (number * UINT64_C(0x9e3779b97f4a7c15) + i + 1) * UINT64_C(0xbf58476d1ce4e5b9);
    for (uint64_t i = whole * WORD_BYTES; i < size; i++)
        message[i] = (unsigned char)(number + i);
    stamp(message, size, number);
}

static uint64_t sum_of(const unsigned char *message, uint64_t size)
{
    const uint64_t *word = (const uint64_t *)message;
    uint64_t whole = size / WORD_BYTES, sum = 0;
    for (uint64_t i = 0; i < whole; i++)
        sum += word[i];
    for (uint64_t i = whole * WORD_BYTES; i < size; i++)
        sum += message[i];
    return sum;
}

static bool stamps_are_right(const unsigned char *message, uint64_t size, uint64_t number)
{
    bool right = true;
    for (uint64_t at = 0; at + WORD_BYTES <= size; at += PAGE_BYTES)
        right &= *(const uint64_t *)(message + at) == number;
    return right;
}

static bool all_is_right(const struct transfer *t, const unsigned char *message, uint64_t number)
{
    return sum_of(message, t->in.size) == t->base_sum + stamps(t->in.size) * number;
}

static struct buffer buffer_new(uint64_t size, uint64_t at_least)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), places = 1;
    while (places < at_least)
        places *= 2;
    struct buffer buffer = {NULL, size, (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES, places};
    void *memory =
        mmap(NULL, page + places * buffer.stride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        probe_fail("out of memory");
    buffer.first = (unsigned char *)memory + page;
    return buffer;
}

/* --- what is timed ------------------------------------------------------------------------------------------- */

/* For ways whose send leaves nothing to do. */
static inline void nothing_to_finish(struct channel *channel, const struct buffer *out, uint64_t next)
{
    (void)channel, (void)out, (void)next;
}

/* Defines the timed part in the probe, so that SEND, FINISH and RECEIVE are inlined in it: of the receiver
 * receive_messages(), of the sender send_messages(). */
#define BANDWIDTH_TIMED(SEND, FINISH, RECEIVE) \
    static __attribute__((noinline)) void receive_messages(const struct transfer *t, uint64_t first, \
                                                           uint64_t messages) \
    { \
        uint64_t right = 0, bytes = 0; \
        for (uint64_t i = 0; i < messages; i++) { \
            const unsigned char *message = buffer_place(&t->in, first + i); \
            bytes += RECEIVE(t->channel, &t->in, first + i, messages - i); \
            right += t->touch_all ? all_is_right(t, message, first + i) \
                                  : stamps_are_right(message, t->in.size, first + i); \
        } \
        t->talk->right = right; \
        t->talk->bytes = bytes; \
    } \
    static __attribute__((noinline)) void send_messages(struct transfer *t, uint64_t messages) \
    { \
        uint64_t end = t->next + messages; \
        for (; t->next < end; t->next++) { \
            stamp(buffer_place(&t->out, t->next), t->out.size, t->next); \
            SEND(t->channel, &t->out, t->next); \
        } \
        FINISH(t->channel, &t->out, t->next); \
    } \
    static const struct timed timed = {SEND, FINISH, RECEIVE, send_messages, receive_messages};

/* --- orders and reports -------------------------------------------------------------------------------------- */

static void announce(uint32_t *word, uint32_t number, int scope)
{
    __atomic_store_n(word, number, __ATOMIC_RELEASE); /* pairs with the load in await */
    futex_wake(word, 1, scope);
}

static void await(const uint32_t *word, uint32_t number, int scope)
{
    uint32_t seen;
    while ((seen = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != number)
        futex_wait(word, seen, scope);
}

/* Byte by byte; the expectation is made anew for each message. */
static void prove_messages(const struct transfer *t, uint64_t first, uint64_t messages)
{
    uint64_t right = 0, bytes = 0;
    for (uint64_t number = first; number < first + messages; number++) {
        bytes += way->timed->receive(t->channel, &t->in, number, first + messages - number);
        fill(t->expected.first, t->in.size, number);
        right += memcmp(buffer_place(&t->in, number), t->expected.first, t->in.size) == 0;
    }
    t->talk->right = right;
    t->talk->bytes = bytes;
}

static void receiver(struct probe_run *run, int index, void *shared)
{
    const struct transfer *t = shared;
    struct conversation *talk = t->talk;
    uint64_t next = 0;
    (void)run, (void)index;
    for (uint32_t order = 1;; order++) {
        await(&talk->ordered, order, t->scope);
        if (talk->kind == ORDER_STOP)
            return;
        talk->before = thread_switches();
        talk->cpu[0] = thread_cpu();
        announce(&talk->ready, order, t->scope);
        if (talk->kind == ORDER_PROOF)
            prove_messages(t, next, talk->messages);
        else
            way->timed->receive_messages(t, next, talk->messages);
        talk->end_ns = probe_now_ns();
        talk->after = thread_switches();
        talk->cpu[1] = thread_cpu();
        next += talk->messages;
        announce(&talk->done, order, t->scope);
    }
}

static void order(struct transfer *t, enum order_kind kind, uint64_t messages)
{
    t->talk->kind = kind;
    t->talk->messages = messages;
    announce(&t->talk->ordered, ++t->orders, t->scope);
}

static uint64_t at_most(uint64_t number, uint64_t limit)
{
    return number < limit ? number : limit;
}

static void prove_contents(struct transfer *t)
{
    uint64_t messages = 2 * t->out.places + at_most(PROOF_BYTES / t->out.size, PROOF_MESSAGES);
    order(t, ORDER_PROOF, messages);
    for (uint64_t end = t->next + messages; t->next < end; t->next++) {
        fill(buffer_place(&t->out, t->next), t->out.size, t->next);
        way->timed->send(t->channel, &t->out, t->next);
    }
    way->timed->finish(t->channel, &t->out, t->next);
    await(&t->talk->done, t->orders, t->scope);
    if (t->talk->right != messages || t->talk->bytes != messages * t->out.size)
        probe_fail("%llu of %llu messages of the proof were received as they were sent",
                   (unsigned long long)t->talk->right, (unsigned long long)messages);
}

/* --- the probe ----------------------------------------------------------------------------------------------- */

/* A receiver that failed has said why; without this the sender would wait for it until the deadline. */
static void receiver_ended(int signal_number)
{
    static const char text[] = PROBE_ID ": the receiver was killed\n";
    int status = 0;
    (void)signal_number;
    if (waitpid(-1, &status, WNOHANG) > 0 && WIFEXITED(status))
        _exit(WEXITSTATUS(status) ? WEXITSTATUS(status) : 1);
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(1);
    _exit(1);
}

static void bandwidth_setup(struct probe_run *run)
{
    bool processes = probe_is(run, "kind", "process");
    uint64_t size = (uint64_t)probe_integer(run, "size");
    uint64_t places = way->places ? way->places(run) : 1;
    struct transfer *t = run->state = probe_share(sizeof *t);
    t->channel = way->create(run, size);
    t->talk = probe_share(sizeof *t->talk);
    t->out = buffer_new(size, places);
    t->in = buffer_new(size, places);
    t->expected = buffer_new(size, 1);
    t->touch_all = probe_is(run, "touch", "all");
    t->scope = futex_scope(processes);
    fill(t->in.first, size, 0);
    t->base_sum = sum_of(t->in.first, size);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = receiver_ended, .sa_flags = SA_NOCLDSTOP}, NULL);
    t->receiver = contexts_start(run, processes, 1, 1, receiver, t);
    prove_contents(t);
    for (uint64_t i = 0; i < t->out.places; i++)
        fill(buffer_place(&t->out, i), size, 0);
}

static void bandwidth_batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct transfer *t = run->state;
    const struct conversation *talk = t->talk;
    order(t, ORDER_BATCH, operations);
    await(&talk->ready, t->orders, t->scope);
    struct switches before = thread_switches();
    int cpu[4] = {thread_cpu()};
    probe_start(value);
    uint64_t begin_ns = probe_now_ns();
    way->timed->send_messages(t, operations);
    struct switches after = thread_switches();
    cpu[1] = thread_cpu();
    await(&talk->done, t->orders, t->scope);
    probe_stop(value);
    value->wall_ns = talk->end_ns - begin_ns; /* not until the sender has woken up again */
    value->voluntary = after.voluntary - before.voluntary + talk->after.voluntary - talk->before.voluntary;
    value->involuntary = after.involuntary - before.involuntary + talk->after.involuntary - talk->before.involuntary;
    probe_count(value, "checked", talk->bytes == operations * t->out.size ? talk->right : 0);
    probe_count(value, "bytes", talk->bytes);
    probe_count(value, "switches", value->voluntary + value->involuntary);
    cpu[2] = talk->cpu[0];
    cpu[3] = talk->cpu[1];
    if (run->placement == PROBE_FREE)
        probe_count(value, "cpus", cpus_among(cpu, 4));
}

static void bandwidth_teardown(struct probe_run *run)
{
    struct transfer *t = run->state;
    signal(SIGCHLD, SIG_DFL);
    order(t, ORDER_STOP, 0);
    contexts_join(run, t->receiver);
    if (way->remove)
        way->remove(t->channel);
}

/* That both ways of looking at a message accept a right one and see what is wrong with others. */
static void bandwidth_selftest(struct probe_run *run)
{
    struct transfer *t = run->state;
    unsigned char *message = t->in.first;
    uint64_t size = t->in.size, number = 7, last_stamp = (stamps(size) - 1) * PAGE_BYTES;
    fill(message, size, 0);
    stamp(message, size, number);
    if (!stamps_are_right(message, size, number) || !all_is_right(t, message, number))
        probe_fail("a right message is taken for a wrong one");
    message[last_stamp] ^= 1;
    if (stamps_are_right(message, size, number))
        probe_fail("a wrong stamp is not seen");
    message[last_stamp] ^= 1;
    message[size - 1] ^= 1;
    if (all_is_right(t, message, number))
        probe_fail("a wrong byte is not seen");
}

static int bandwidth_main(const struct way *this_way, int argc, char **argv)
{
    way = this_way;
    const struct probe probe = {
        .title = way->title,
        .question = way->question,
        .operation = "one message of `size` bytes, one way, from the send until it is received in full",
        .source = way->source,
        .statistic = "median",
        .placements = "same,cross,free",
        .uses = way->uses,
        .family = "bandwidth",
        .metrics = (const struct probe_metric[]){
            {"bandwidth", "B/s", "higher", "bytes", "wall", "bytes received in a second"},
            {"message", "s", "lower", "wall", "operations", "time from one message to the next"},
            {"message_cpu", "s", "lower", "cpu", "operations", "CPU time of both contexts for one message"},
            {"switches_per_message", "1", "neither", "switches", "operations",
             "how often one of the two was switched away from, divided by the messages"},
            way->metric[0], way->metric[1],
            {0}},
        .params = (const struct probe_param[]){
            {.name = "size", .doc = "bytes of a message", .unit = "B",
             .sweep = way->sizes ? way->sizes : BANDWIDTH_SIZES, .brief = "4096", .min = 8,
             .max = way->largest ? way->largest : MAX_MESSAGE},
            {.name = "kind", .doc = "what a context is", .choices = "process,thread", .sweep = "process,thread",
             .brief = "process"},
            {.name = "touch", .doc = "what the receiver reads of a message: one word of each 4096 bytes, or all of it",
             .choices = "stride,all", .sweep = "stride"},
            way->param[0], way->param[1], way->param[2],
            {0}},
        .setup = bandwidth_setup,
        .batch = way->batch ? way->batch : bandwidth_batch,
        .teardown = bandwidth_teardown,
        .selftest = way->selftest ? way->selftest : bandwidth_selftest,
    };
    return probe_main(&probe, argc, argv);
}

#endif
