/* SPDX-License-Identifier: Apache-2.0
 * handoff.h - two contexts that hand a number to and fro and sleep while the other has it.
 *
 * One operation is a round trip, there and back. The mechanisms differ in their line and in nothing else. Each number
 * is one more than the one before, both sides look at what they get, and the partner's own count is half the proof.
 * How often both were switched away from is reported: on one CPU a round trip takes two switches, and a mechanism that
 * spins shows fewer. They need not both be sleeps: where the scheduler lets the woken one run at once, the sender is
 * preempted inside its send and finds the answer there when it goes on, so that only one of the two ever sleeps. */
#ifndef STEELYARD_SWITCH_HANDOFF_H
#define STEELYARD_SWITCH_HANDOFF_H

#include "contexts.h"

#include <stdlib.h>

#define HANDOFF_LAST 0x7fffffffu    /* numbers go from 1 to this one and start again */
#define HANDOFF_REPORT 0xfffffffeu  /* to the partner: say how often you were switched away from */
#define HANDOFF_STOP 0xffffffffu    /* to the partner: end */

/* A line in one direction, made before the partner is started; what is in it is the probe's own matter. Numbers are
 * never 0, and one is taken before the next is sent. */
struct line;
struct handoff;

/* One mechanism, as HANDOFF() makes it of a probe's functions. */
struct handoff_way {
    struct line *(*create)(bool processes);
    void (*send)(struct line *line, uint32_t number);
    uint32_t (*receive)(struct line *line); /* sleeps until there is a number */
    context_body *answer;                   /* of the partner: answers whatever comes until it is told to stop */
    uint64_t (*round_trips)(struct handoff *h, uint64_t operations); /* timed; returns how many came back right */
};

struct handoff {
    struct line *there, *back;
    struct contexts *partner;
    uint32_t next;
    struct partner_count { /* shared, written by the partner alone */
        volatile uint64_t verified;
        volatile struct switches switches;
    } *partner_count;
    const struct handoff_way *way;
};

static uint32_t number_after(uint32_t number)
{
    return number % HANDOFF_LAST + 1;
}

/* Defines setup() of a mechanism. SEND and RECEIVE are inlined in both loops. A wrong number fails the check and not the
 * conversation. */
#define HANDOFF(CREATE, SEND, RECEIVE) \
    static void answer(struct probe_run *run, int index, void *shared) \
    { \
        const struct handoff *h = shared; \
        struct partner_count *count = h->partner_count; \
        uint32_t expected = h->next, number; \
        (void)run, (void)index; \
        while ((number = RECEIVE(h->there)) != HANDOFF_STOP) { \
            if (number == HANDOFF_REPORT) { \
                count->switches = thread_switches(); \
            } else { \
                count->verified += number == expected; \
                expected = number_after(expected); \
            } \
            SEND(h->back, number); \
        } \
    } \
    static __attribute__((noinline)) uint64_t round_trips(struct handoff *h, uint64_t operations) \
    { \
        uint64_t right = 0; \
        for (uint64_t i = 0; i < operations; i++) { \
            SEND(h->there, h->next); \
            right += RECEIVE(h->back) == h->next; \
            h->next = number_after(h->next); \
        } \
        return right; \
    } \
    static void setup(struct probe_run *run) \
    { \
        static const struct handoff_way way = {CREATE, SEND, RECEIVE, answer, round_trips}; \
        handoff_setup(run, &way); \
    }

/* A live process's switches are not in our rusage, so the partner is asked in both kinds. */
static struct switches switches_of_both(struct handoff *h)
{
    h->way->send(h->there, HANDOFF_REPORT);
    if (h->way->receive(h->back) != HANDOFF_REPORT)
        probe_fail("the partner's report did not come back");
    struct switches both = thread_switches();
    both.voluntary += h->partner_count->switches.voluntary;
    both.involuntary += h->partner_count->switches.involuntary;
    return both;
}

static void handoff_setup(struct probe_run *run, const struct handoff_way *way)
{
    bool processes = probe_is(run, "kind", "process");
    struct handoff *h = calloc(1, sizeof *h);
    if (!h)
        probe_fail("out of memory");
    *h = (struct handoff){way->create(processes), way->create(processes), NULL, 1,
                          probe_share(sizeof *h->partner_count), way};
    run->state = h;
    h->partner = contexts_start(run, processes, 1, 1, way->answer, h);
    switches_of_both(h); /* returns when the partner is there */
}

static void handoff_batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct handoff *h = run->state;
    struct switches before = switches_of_both(h);
    uint64_t verified = h->partner_count->verified;
    probe_start(value);
    uint64_t right = h->way->round_trips(h, operations);
    probe_stop(value);
    struct switches after = switches_of_both(h);
    verified = h->partner_count->verified - verified;
    value->voluntary = after.voluntary - before.voluntary;
    value->involuntary = after.involuntary - before.involuntary;
    probe_count(value, "checked", right < verified ? right : verified);
    probe_count(value, "sleeps", value->voluntary);
    probe_count(value, "switches", value->voluntary + value->involuntary);
}

static void handoff_teardown(struct probe_run *run)
{
    struct handoff *h = run->state;
    h->way->send(h->there, HANDOFF_STOP);
    contexts_join(run, h->partner);
}

/* The rest of the descriptor is the same for every mechanism. */
#define HANDOFF_DESCRIPTION \
    .operation = "one round trip of a number between two contexts, there and back", .statistic = "median", \
    .placements = "same,cross", .uses = "cpu,sched,ipc", \
    .metrics = (const struct probe_metric[]){ \
        {"round_trip", "s", "lower", "wall", "operations", "time of one round trip, there and back"}, \
        {"round_trip_cpu", "s", "lower", "cpu", "operations", "CPU time of both contexts for one round trip"}, \
        {"switches_per_operation", "1", "neither", "switches", "operations", \
         "how often one of the two was switched away from in a round trip"}, \
        {"sleeps_per_operation", "1", "neither", "sleeps", "operations", \
         "how many of these were sleeps; in the others the woken one preempted its waker"}, \
        {0}}, \
    .params = (const struct probe_param[]){CONTEXTS_KIND_PARAM("thread,process"), {0}}, .setup = setup, \
    .batch = handoff_batch, .teardown = handoff_teardown

#endif
