/* SPDX-License-Identifier: Apache-2.0
 * latency.h - a message goes from one context to another and comes back, one at a time, by one mechanism a file.
 *
 * One operation is a round trip: the caller sends, the partner has received all of it before it sends back what it
 * received, and the caller waits until it has that.
 *
 * A batch is timed as a whole, as a bare loop would be. In it some round trips are also timed one by one and counted in
 * a histogram. What that costs is measured before the first batch, and only so many are timed that the batch takes
 * no more than 1 % longer for it: all of those that take 3 us, one in 19 of the 0.15 us of shared memory. Mean and
 * quantiles of single round trips do hold the cost; where it, or the step of the clock, is above 2 % of a round
 * trip, a caveat says so.
 *
 * Mean and median are of the value's own messages, p99 and p99_9 of all messages of the run so far (quantiles.h).
 *
 * Every byte is counted where it arrives, on both sides. Each message carries its number in its last byte and in one
 * byte of each 4096 before that, which both sides look at. Before and after a batch a message whose bytes all
 * differ is compared in full by both. */
#ifndef STEELYARD_MESSAGE_LATENCY_H
#define STEELYARD_MESSAGE_LATENCY_H

#include "contexts.h"
#include "quantiles.h"
#include "latency_ticks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define LATENCY_MAX_BYTES 65536
#define LATENCY_PAGE 4096
#define TIMING_BUDGET 0.01      /* of a batch, at most, is spent on timing single messages */
#define TIMING_ROUNDS 2000      /* to find out what timing one message costs */
#define TIMING_SHARE 0.02       /* of a round trip: more is a caveat */

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

enum party { CALLER, PARTNER };

static inline enum party other_than(enum party party)
{
    return party == CALLER ? PARTNER : CALLER;
}

/* What the probe made for messages to go through, in shared memory; what is in it is the probe's own matter. A message
 * starts at a page and has a page in front of it that is free for a header. It may stay unsent until its sender
 * receives the next or calls `finish`. */
struct channel;
typedef void send_function(struct channel *channel, enum party from, unsigned char *message, uint64_t size);
/* Waits until a message of `size` bytes is there in full; returns how many bytes came. */
typedef uint64_t receive_function(struct channel *channel, enum party to, unsigned char *message, uint64_t size);

struct exchange;
/* What came back in a batch. */
struct returned {
    uint64_t right, bytes;
};

/* Defined in the probe by LATENCY_TIMED. */
struct timed {
    send_function *send;
    receive_function *receive;
    void (*echo)(struct exchange *exchange, unsigned char *message);
    struct returned (*round_trips)(struct exchange *exchange, uint64_t operations);
};

/* One mechanism: what a probe hands to latency_main(). */
struct way {
    const char *title, *question, *source, *properties, *placements, *uses; /* as in struct probe */
    struct channel *(*create)(const struct probe_run *run, uint64_t size); /* before the partner is started */
    const struct timed *timed;
    void (*join)(struct channel *channel, enum party party); /* optional: each party before its first message */
    void (*finish)(struct channel *channel);                 /* optional: the caller after its last message */
    void (*remove)(struct channel *channel);                 /* optional: at the end, when the partner is gone */
};
static const struct way *way; /* the one of this program; set by latency_main() */

/* What the partner should do with the message that comes next. */
enum request { REQUEST_ECHO, REQUEST_REPORT, REQUEST_STOP };

/* Shared: the caller writes the request and nobody anything else while round trips are timed. */
struct conversation {
    struct gate gate;
    _Alignas(PROBE_CACHE_LINE) enum request request;
    _Alignas(PROBE_CACHE_LINE) uint64_t right; /* from here on the partner's */
    uint64_t bytes;
    bool intact;
    struct switches switches;
    int cpu;
};

struct exchange {
    struct channel *channel;
    struct conversation *talk;
    struct contexts *partner;
    struct histogram *histogram, *tails; /* of the last batch; of all since the search for the batch's length */
    struct ticks ticks;
    unsigned char *out, *in;
    uint64_t size, number, operations; /* of a message; of the last message; of the last batch */
    uint64_t every;          /* one round trip of so many is timed by itself */
    double timing_s, step_s; /* what timing a message costs, and how finely the clock tells times apart */
    double round_trip_s;     /* the least of all batches */
};

/* --- contents ------------------------------------------------------------------------------------------------ */

static unsigned char *message_new(uint64_t size)
{
    uint64_t pages = (size + LATENCY_PAGE - 1) / LATENCY_PAGE;
    unsigned char *memory = aligned_alloc(LATENCY_PAGE, (1 + pages) * LATENCY_PAGE);
    if (!memory)
        probe_fail("out of memory");
    memset(memory, 0, (1 + pages) * LATENCY_PAGE); /* page faults are not the subject */
    return memory + LATENCY_PAGE;
}

/* Counted from the end: a message that was cut short lacks the byte that is always there. */
static inline void message_stamp(unsigned char *message, uint64_t size, uint64_t number)
{
    for (uint64_t left = size; left > 0; left = left > LATENCY_PAGE ? left - LATENCY_PAGE : 0)
        message[left - 1] = (unsigned char)number;
}

static inline bool message_is(const unsigned char *message, uint64_t size, uint64_t number)
{
    bool right = true;
    for (uint64_t left = size; left > 0; left = left > LATENCY_PAGE ? left - LATENCY_PAGE : 0)
        right &= message[left - 1] == (unsigned char)number;
    return right;
}

/* Neighbours differ, and so do bytes at the same place of neighbouring pages and messages. */
static unsigned char pattern(uint64_t number, uint64_t at)
{
    return (unsigned char)(number + 167 * at + (at >> 8));
}

static void message_fill(unsigned char *message, uint64_t size, uint64_t number)
{
    for (uint64_t at = 0; at < size; at++)
        message[at] = pattern(number, at);
}

static bool message_is_filled(const unsigned char *message, uint64_t size, uint64_t number)
{
    for (uint64_t at = 0; at < size; at++)
        if (message[at] != pattern(number, at))
            return false;
    return true;
}

/* --- what is timed --------------------------------------------------------------------------------------------- */

/* Defines the timed part in the probe, so that SEND and RECEIVE are inlined in it.
 *
 * echo_messages() is the partner's. It sends back whatever comes, so that a wrong message fails the check and not the
 * conversation. It is sent from where it was received: what comes back has come there. Its number differs from that of
 * the one before, so nothing stale can pass for it. The channel orders the request before the message; the barrier is
 * for the compiler.
 *
 * round_trips() is the caller's. What is received has a place of its own: a message that never came cannot be right. */
#define LATENCY_TIMED(SEND, RECEIVE) \
    static __attribute__((noinline)) void echo_messages(struct exchange *exchange, unsigned char *message) \
    { \
        struct conversation *talk = exchange->talk; \
        uint64_t size = exchange->size; \
        for (uint64_t number = 1;; number++) { \
            uint64_t bytes = RECEIVE(exchange->channel, PARTNER, message, size); \
            enum request request = __atomic_load_n(&talk->request, __ATOMIC_ACQUIRE); \
            if (request == REQUEST_STOP) \
                return; \
            if (request == REQUEST_REPORT) { \
                talk->intact = bytes == size && message_is_filled(message, size, number); \
                talk->switches = thread_switches(); \
                talk->cpu = thread_cpu(); \
            } else { \
                talk->right += message_is(message, size, number); \
                talk->bytes += bytes; \
            } \
            SEND(exchange->channel, PARTNER, message, size); \
        } \
    } \
    static inline __attribute__((always_inline)) void round_trip(struct exchange *exchange, uint64_t size, \
                                                                 struct returned *back) \
    { \
        uint64_t number = ++exchange->number; \
        message_stamp(exchange->out, size, number); \
        SEND(exchange->channel, CALLER, exchange->out, size); \
        back->bytes += RECEIVE(exchange->channel, CALLER, exchange->in, size); \
        back->right += message_is(exchange->in, size, number); \
    } \
    static __attribute__((noinline)) struct returned round_trips(struct exchange *exchange, uint64_t operations) \
    { \
        struct returned back = {0}; \
        uint64_t size = exchange->size, untimed = exchange->every - 1, left = operations; \
        for (; left > untimed; left -= untimed + 1) { \
            for (uint64_t i = 0; i < untimed; i++) \
                round_trip(exchange, size, &back); \
            uint64_t begin = ticks_now(&exchange->ticks); \
            round_trip(exchange, size, &back); \
            histogram_add(exchange->histogram, ticks_now(&exchange->ticks) - begin); \
        } \
        for (; left > 0; left--) \
            round_trip(exchange, size, &back); \
        return back; \
    } \
    static const struct timed timed = {SEND, RECEIVE, echo_messages, round_trips};

/* --- the partner --------------------------------------------------------------------------------------------- */

static void join(struct channel *channel, enum party party)
{
    if (way->join)
        way->join(channel, party);
}

static void partner(struct probe_run *run, int index, void *shared)
{
    struct exchange *exchange = shared;
    (void)run, (void)index;
    unsigned char *message = message_new(exchange->size);
    join(exchange->channel, PARTNER);
    gate_pass(&exchange->talk->gate);
    way->timed->echo(exchange, message);
}

/* --- the caller ---------------------------------------------------------------------------------------------- */

/* A message that is compared in full, and how often both were switched away from so far: a live process's switches are
 * not in our rusage, so the partner is asked in both kinds. */
static struct switches report(struct exchange *exchange)
{
    struct conversation *talk = exchange->talk;
    uint64_t number = ++exchange->number, size = exchange->size;
    message_fill(exchange->out, size, number);
    __atomic_store_n(&talk->request, REQUEST_REPORT, __ATOMIC_RELEASE);
    way->timed->send(exchange->channel, CALLER, exchange->out, size);
    uint64_t bytes = way->timed->receive(exchange->channel, CALLER, exchange->in, size);
    __atomic_store_n(&talk->request, REQUEST_ECHO, __ATOMIC_RELEASE);
    if (!talk->intact)
        probe_fail("a message did not arrive as it was sent");
    if (bytes != size || !message_is_filled(exchange->in, size, number))
        probe_fail("a message did not come back as it was sent");
    struct switches both = thread_switches();
    both.voluntary += talk->switches.voluntary;
    both.involuntary += talk->switches.involuntary;
    return both;
}

/* The least of several rounds, with times that spread over buckets as real ones do. The step is the least that two
 * readings in a row differed by, if at all: on some processors the counter goes up by 10 ns at a time. */
static void weigh_timing(struct exchange *exchange)
{
    uint64_t least_ns = UINT64_MAX, step = UINT64_MAX;
    for (int round = 0; round < 5; round++) {
        uint64_t begin_ns = probe_now_ns();
        for (uint64_t i = 0; i < TIMING_ROUNDS; i++) {
            uint64_t begin = ticks_now(&exchange->ticks), passed = ticks_now(&exchange->ticks) - begin;
            histogram_add(exchange->histogram, passed + (i & 1023));
            step = passed ? least(step, passed) : step;
        }
        least_ns = least(least_ns, probe_now_ns() - begin_ns);
    }
    exchange->timing_s = (double)least_ns * 1e-9 / TIMING_ROUNDS;
    exchange->step_s = (double)step * ticks_seconds(&exchange->ticks);
}

/* How rarely a message must be timed to stay within the budget of the fastest batch: one that was interrupted would
 * allow more. Odd, so that none of the 2, 4 or 8 places of a ring is timed more often than another. */
static void note_round_trip(struct exchange *exchange, double round_trip_s)
{
    if (exchange->round_trip_s == 0 || round_trip_s < exchange->round_trip_s)
        exchange->round_trip_s = round_trip_s;
    double least_every = exchange->timing_s / (TIMING_BUDGET * exchange->round_trip_s);
    exchange->every = (uint64_t)least_every + (least_every > 1);
    exchange->every |= 1;
}

/* --- the probe ----------------------------------------------------------------------------------------------- */

/* A partner that failed has said why; without this the caller would wait for it until the deadline. */
static void partner_ended(int signal_number)
{
    static const char text[] = PROBE_ID ": the partner was killed\n";
    int status = 0;
    (void)signal_number;
    if (waitpid(-1, &status, WNOHANG) > 0 && WIFEXITED(status) && WEXITSTATUS(status) != 0)
        _exit(WEXITSTATUS(status));
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(1);
    _exit(1);
}

static void latency_setup(struct probe_run *run)
{
    uint64_t size = (uint64_t)probe_integer(run, "size");
    struct exchange *exchange = run->state = probe_share(sizeof *exchange);
    exchange->size = size;
    exchange->out = message_new(size);
    exchange->in = message_new(size);
    exchange->histogram = probe_share(sizeof *exchange->histogram);
    exchange->tails = probe_share(sizeof *exchange->tails);
    exchange->talk = probe_share(sizeof *exchange->talk);
    exchange->ticks = ticks_start();
    weigh_timing(exchange);
    exchange->every = 1; /* until the first batch, which is not printed, tells how long a round trip is */
    exchange->channel = way->create(run, size);
    join(exchange->channel, CALLER);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = partner_ended, .sa_flags = SA_NOCLDSTOP}, NULL);
    exchange->partner = contexts_start(run, probe_is(run, "kind", "process"), 1, 1, partner, exchange);
    gate_open(&exchange->talk->gate, 1);
    report(exchange);
}

/* A batch of another length than the one before still belongs to the search for it, or comes after it. */
static void keep_for_tails(struct exchange *exchange, uint64_t operations)
{
    if (operations != exchange->operations)
        memset(exchange->tails, 0, sizeof *exchange->tails);
    exchange->operations = operations;
    histogram_merge(exchange->tails, exchange->histogram);
}

static void read_histograms(const struct exchange *exchange, struct probe_value *value)
{
    const struct histogram *own = exchange->histogram, *tails = exchange->tails;
    double tick_s = ticks_seconds(&exchange->ticks);
    probe_reading(value, "timed_s", (double)own->total * tick_s);
    probe_count(value, "timed", own->count);
    quantile_report(value, "median", "enough_for_median", own, 0.5, tick_s);
    quantile_report(value, "p99", "enough_for_p99", tails, 0.99, tick_s);
    quantile_report(value, "p99_9", "enough_for_p99_9", tails, 0.999, tick_s);
    probe_reading(value, "timing_cost", exchange->timing_s);
}

static void latency_batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct exchange *exchange = run->state;
    const struct conversation *talk = exchange->talk;
    struct switches before = report(exchange);
    int cpu[4] = {thread_cpu(), talk->cpu};
    uint64_t right = talk->right, bytes = talk->bytes;
    memset(exchange->histogram, 0, sizeof *exchange->histogram);
    probe_start(value);
    struct returned back = way->timed->round_trips(exchange, operations);
    probe_stop(value);
    right = least(back.right, talk->right - right);
    bytes = back.bytes + talk->bytes - bytes;
    struct switches after = report(exchange);
    cpu[2] = thread_cpu();
    cpu[3] = talk->cpu;
    value->voluntary = after.voluntary - before.voluntary;
    value->involuntary = after.involuntary - before.involuntary;
    probe_count(value, "checked", bytes == 2 * operations * exchange->size ? right : 0);
    probe_count(value, "bytes", bytes);
    probe_count(value, "switches", value->voluntary + value->involuntary);
    probe_count(value, "watched", operations + 1); /* the second report is a round trip too */
    if (run->placement == PROBE_FREE)
        probe_count(value, "cpus", cpus_among(cpu, 4));
    note_round_trip(exchange, (double)value->wall_ns * 1e-9 / (double)operations);
    keep_for_tails(exchange, operations);
    read_histograms(exchange, value);
}

static void latency_teardown(struct probe_run *run)
{
    struct exchange *exchange = run->state;
    if (exchange->timing_s > TIMING_SHARE * exchange->round_trip_s)
        probe_caveat_of("mean,median,p99,p99_9", "mean, median, p99 and p99_9: timing one message costs up to %.0f ns, "
                        "more than %.0f %% of a round trip; these hold it, round_trip at most %.0f %%",
                        exchange->timing_s * 1e9, TIMING_SHARE * 100, TIMING_BUDGET * 100);
    if (exchange->step_s > TIMING_SHARE * exchange->round_trip_s)
        probe_caveat_of("median,p99,p99_9", "median, p99 and p99_9: the clock for single messages has steps of at least "
                        "%.0f ns, more than %.0f %% of a round trip, and these are no finer", exchange->step_s * 1e9,
                        TIMING_SHARE * 100);
    const bool neither = !quantile_exists(exchange->tails, 0.99);
    if (!quantile_exists(exchange->tails, 0.999))
        probe_caveat_of(neither ? "p99,p99_9" : "p99_9",
                        "%s: too few messages; a longer --target or more --values would give it",
                        neither ? "p99 and p99_9" : "p99_9");
    signal(SIGCHLD, SIG_DFL);
    __atomic_store_n(&exchange->talk->request, REQUEST_STOP, __ATOMIC_RELEASE);
    way->timed->send(exchange->channel, CALLER, exchange->out, exchange->size);
    if (way->finish)
        way->finish(exchange->channel);
    contexts_join(run, exchange->partner);
    if (way->remove)
        way->remove(exchange->channel);
}

/* The histogram knows the quantiles of numbers that are known, and the ways of looking at a message see one that is not
 * the one that was sent. */
static void latency_selftest(struct probe_run *run)
{
    struct exchange *exchange = run->state;
    struct histogram *histogram = exchange->histogram;
    const double shares[] = {0.001, 0.5, 0.99, 0.999, 1};
    memset(histogram, 0, sizeof *histogram);
    for (uint64_t number = 1; number <= 100000; number++)
        histogram_add(histogram, number);
    for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++) {
        double off = histogram_quantile(histogram, shares[i]) / (shares[i] * 100000) - 1;
        if (off > 0.005 || off < -0.005)
            probe_fail("the histogram is off by %.2f %% at the quantile %g", off * 100, shares[i]);
    }
    if (histogram->count != 100000 || histogram->total != UINT64_C(5000050000))
        probe_fail("the histogram lost a number");
    histogram_add(histogram, UINT64_MAX);
    if (histogram->bucket[HISTOGRAM_BUCKETS - 1] != 1)
        probe_fail("the largest number is not in the histogram's last bucket");
    message_fill(exchange->in, exchange->size, 7);
    bool filled = message_is_filled(exchange->in, exchange->size, 7);
    exchange->in[exchange->size - 1] ^= 1;
    bool noticed = !message_is_filled(exchange->in, exchange->size, 7);
    message_stamp(exchange->in, exchange->size, 7);
    if (!filled || !noticed || !message_is(exchange->in, exchange->size, 7) ||
        message_is(exchange->in, exchange->size, 8))
        probe_fail("a wrong message would pass for a right one");
}

/* Inline: a probe that includes paced.h has a main of its own instead. */
static inline int latency_main(const struct way *this_way, int argc, char **argv)
{
    way = this_way;
    const struct probe probe = {
        .title = way->title,
        .question = way->question,
        .properties = way->properties,
        .operation = "one round trip of a message of `size` bytes between two contexts, there and back",
        .source = way->source,
        .statistic = "median",
        .placements = way->placements,
        .uses = way->uses,
        .family = "latency",
        .metrics = (const struct probe_metric[]){
            {"round_trip", "s", "lower", "wall", "operations",
             "time of one round trip, from a batch timed as a whole"},
            {"mean", "s", "lower", "timed_s", "timed", "mean of the round trips that were timed one by one"},
            {"median", "s", "lower", "median", "enough_for_median", "half of those take at most this"},
            {"p99", "s", "lower", "p99", "enough_for_p99",
             "99 % of those of the run so far take at most this; from 1000 of them on"},
            {"p99_9", "s", "lower", "p99_9", "enough_for_p99_9",
             "99.9 % of those of the run so far take at most this; from 10000 of them on"},
            {"switches_per_operation", "1", "neither", "switches", "watched",
             "how often one of the two was switched away from in a round trip"},
            {0}},
        .params = (const struct probe_param[]){
            {.name = "size", .doc = "bytes of a message, the same there and back", .unit = "B", .sweep = "1", .min = 1,
             .max = LATENCY_MAX_BYTES},
            {.name = "kind", .doc = "what a context is", .choices = "process,thread", .sweep = "process,thread",
             .brief = "process"},
            {0}},
        .setup = latency_setup,
        .batch = latency_batch,
        .teardown = latency_teardown,
        .selftest = latency_selftest,
    };
    return probe_main(&probe, argc, argv);
}

#endif
