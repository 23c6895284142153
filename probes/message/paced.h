/* SPDX-License-Identifier: Apache-2.0
 * paced.h - requests at a rate through a channel of latency_*.c, and their answers.
 *
 * A request is due at a time drawn at random (a Poisson process) and waits for the answer to the one before it, for the
 * channel holds one at a time. Its time counts from when it was due: what had to wait is not left out (Tene: coordinated
 * omission). round_trip is the time from when it left; a channel keeps up with a rate while the two multiplied are
 * less than 1.
 *
 * The caller spins until a request is due, as one that has other work would be awake: the partner is what sleeps and is
 * woken. What the caller spun is no part of the CPU time. How much later than it could the caller sent a request
 * stands beside.
 *
 * What is checked of a message, and how it is timed, is as in latency.h.
 * A probe of this kind is `#include "paced.h"` and `#include "latency_<way>.c"`. */
#ifndef STEELYARD_MESSAGE_PACED_H
#define STEELYARD_MESSAGE_PACED_H

#define _GNU_SOURCE /* what some of the channels need, and before any header */

#include "latency.h"

#include <math.h>

#define LATE_SHARE 0.1 /* of the median: a caller that is later than this is a caveat */
#define TAKEN_AWAY_S 10e-6 /* between two looks at the clock: another had the CPU, and it was no CPU time of ours */
#define MOST_RATE 10000000

static struct paced {
    double rate;
    uint64_t random;
    struct histogram late;             /* how much later than it could the caller sent each request of the batch */
    uint64_t spun, on_its_way, planned; /* ticks of the batch: spent on waiting; a request was under way; all were due */
    double late_share;                 /* the 99th percentile of `late` to the median time, the most of all batches */
} paced;

/* SplitMix64 (Steele, Lea & Flood 2014), as a share of 1 without 0. */
static double paced_uniform(void)
{
    uint64_t z = paced.random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return ((double)((z ^ z >> 31) >> 11) + 1) * 0x1p-53;
}

/* The times of a batch begin with it: what was late in one makes nothing late in the next. */
static __attribute__((noinline)) struct returned paced_requests(struct exchange *exchange, uint64_t operations)
{
    struct returned back = {0};
    uint64_t size = exchange->size, begin = ticks_now(&exchange->ticks), answered = begin;
    double apart = 1 / (paced.rate * ticks_seconds(&exchange->ticks)), at = 0;
    uint64_t taken_away = (uint64_t)(TAKEN_AWAY_S / ticks_seconds(&exchange->ticks));
    for (uint64_t i = 0; i < operations; i++) {
        at -= log(paced_uniform()) * apart;
        uint64_t due = begin + (uint64_t)at, sent = ticks_now(&exchange->ticks);
        while (sent < due) {
            uint64_t looked = ticks_now(&exchange->ticks);
            paced.spun += looked - sent < taken_away ? looked - sent : 0;
            sent = looked;
        }
        uint64_t number = ++exchange->number;
        message_stamp(exchange->out, size, number);
        way->timed->send(exchange->channel, CALLER, exchange->out, size);
        back.bytes += way->timed->receive(exchange->channel, CALLER, exchange->in, size);
        back.right += message_is(exchange->in, size, number);
        uint64_t could = due > answered ? due : answered;
        answered = ticks_now(&exchange->ticks);
        histogram_add(exchange->histogram, answered - due);
        histogram_add(&paced.late, sent - could);
        paced.on_its_way += answered - sent;
    }
    paced.planned = (uint64_t)at;
    return back;
}

static uint64_t paced_ns(const struct exchange *exchange, uint64_t ticks)
{
    return (uint64_t)((double)ticks * ticks_seconds(&exchange->ticks) * 1e9);
}

static void paced_setup(struct probe_run *run)
{
    latency_setup(run);
    paced.rate = (double)probe_integer(run, "rate");
}

static void paced_batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct exchange *exchange = run->state;
    const struct conversation *talk = exchange->talk;
    report(exchange);
    uint64_t right = talk->right, bytes = talk->bytes;
    memset(exchange->histogram, 0, sizeof *exchange->histogram);
    memset(&paced.late, 0, sizeof paced.late);
    paced.spun = paced.on_its_way = 0;
    probe_start(value);
    struct returned back = paced_requests(exchange, operations);
    probe_stop(value);
    right = least(back.right, talk->right - right);
    bytes = back.bytes + talk->bytes - bytes;
    report(exchange);
    uint64_t spun_ns = paced_ns(exchange, paced.spun);
    value->cpu_ns -= least(spun_ns, value->cpu_ns);
    value->user_ns -= least(spun_ns, value->user_ns);
    probe_count(value, "checked", bytes == 2 * operations * exchange->size ? right : 0);
    probe_count(value, "bytes", bytes);
    /* As many would have been due by its end: more than were answered where the channel does not keep up. */
    double due = (double)operations * (double)value->wall_ns / (double)paced_ns(exchange, paced.planned + 1);
    probe_count(value, "offered", due > (double)operations ? (uint64_t)due : operations);
    keep_for_tails(exchange, operations);
    note_round_trip(exchange, (double)value->wall_ns * 1e-9 / (double)operations);
    read_histograms(exchange, value);
    double late = histogram_quantile(&paced.late, 0.99), median = histogram_quantile(exchange->histogram, 0.5);
    probe_reading(value, "on_its_way", (double)paced.on_its_way * ticks_seconds(&exchange->ticks));
    probe_reading(value, "late", late * ticks_seconds(&exchange->ticks));
    if (late > paced.late_share * median)
        paced.late_share = late / median;
}

static void paced_teardown(struct probe_run *run)
{
    if (paced.late_share > LATE_SHARE)
        probe_caveat_of("response,median,p99,p99_9", "response, median, p99 and p99_9: the caller itself was late by up to "
                        "%.0f %% of the median, at its 99th percentile", paced.late_share * 100);
    latency_teardown(run);
}

static int paced_main(const struct way *this_way, int argc, char **argv)
{
    way = this_way;
    const struct probe probe = {
        .title = way->title,
        .question = way->question,
        .properties = way->properties,
        .operation = "one message of `size` bytes there and back, due at a random time, `rate` of them in a second",
        .source = way->source,
        .statistic = "median",
        .placements = way->placements,
        .uses = way->uses,
        .family = "paced",
        .metrics = (const struct probe_metric[]){
            {"response", "s", "lower", "timed_s", "timed", "mean time from when a message was due until it is back"},
            {"median", "s", "lower", "median", "enough_for_median", "half of those take at most this"},
            {"p99", "s", "lower", "p99", "enough_for_p99",
             "99 % of those of the run so far take at most this; from 1000 of them on"},
            {"p99_9", "s", "lower", "p99_9", "enough_for_p99_9",
             "99.9 % of those of the run so far take at most this; from 10000 of them on"},
            {"round_trip", "s", "lower", "on_its_way", "operations",
             "mean time from when a message left until it is back"},
            {"cpu", "s", "lower", "cpu", "operations", "CPU time of both sides for a message, without what the caller spun"},
            {"of_rate", "1", "higher", "operations", "offered", "share of the messages that were due that was sent"},
            {"late", "s", "lower", "late", "one", "how much later than it could the caller sent 99 % of them at most"},
            {0}},
        .params = (const struct probe_param[]){
            {.name = "size", .doc = "bytes of a message, the same there and back", .unit = "B", .sweep = "1", .min = 1,
             .max = LATENCY_MAX_BYTES},
            {.name = "kind", .doc = "what a context is", .choices = "process,thread", .sweep = "process"},
            {.name = "rate", .doc = "messages a second", .unit = "1/s", .curves = "median,p99", .sweep = "10000", .min = 1,
             .max = MOST_RATE},
            {0}},
        .setup = paced_setup,
        .batch = paced_batch,
        .teardown = paced_teardown,
        .selftest = latency_selftest,
    };
    return probe_main(&probe, argc, argv);
}
#define latency_main paced_main

#endif
