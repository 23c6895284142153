/* SPDX-License-Identifier: Apache-2.0
 * sleep - the shortest sleep that can be asked for, by 1 or many threads, with the timer slack as a parameter.
 *
 * usleep asks for 0 ns, nanosleep for 1 ns from now, clock_nanosleep (CLOCK_MONOTONIC) for the absolute time 1 ns after
 * the one it has just read, as a periodic loop does. What passes is the timer slack (50 us unless set), the timer's
 * interrupt and the wake-up: latency, hardly any CPU time. The seed took the wall time for the cost of switching.
 *
 * Known answer: one thread's latency is about the slack of 50000 ns and a wake-up; each call returns success. The
 * kernel counts the sleeps that gave the CPU away, as voluntary switches; a timer that fires before the thread is off
 * the CPU, as with a slack of 1 ns it may always do, leaves none.
 * Overhead: counting about 1 ns a sleep; clock_nanosleep has one clock read in it.
 * Fairness is Jain's index of the sleeps that each thread has had since all began: 1 if all had as many, 1/n if one had
 * them all; and the fewest of any thread, over the mean.
 * Limits: the latency is that of one context, wall time times contexts over sleeps; with many contexts on one CPU it
 * holds their waiting for each other. Real-time policies have no slack: then a caveat is given.
 * Assembly: keep_sleeping contains (call|bl).*<(usleep|nanosleep|clock_nanosleep)
 * Source: t_sleep.c of shell909090/context (2014), 100 threads and 1; the slack: prctl(2), PR_SET_TIMERSLACK; the index:
 * R. Jain, D. Chiu, W. Hawe, A Quantitative Measure of Fairness (DEC-TR-301, 1984). */
#include "contexts.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static enum { USLEEP, NANOSLEEP, CLOCK_NANOSLEEP } call; /* written before the contexts start */
static unsigned long slack_ns;

struct sleepers {
    int count;
    struct gate *gate;
    struct tally *tally; /* one a context */
    struct contexts *contexts;
};

static inline bool sleep_shortest(void)
{
    static const struct timespec nanosecond = {.tv_nsec = 1};
    struct timespec then;
    switch (call) {
    case USLEEP: return usleep(0) == 0;
    case NANOSLEEP: return nanosleep(&nanosecond, NULL) == 0;
    case CLOCK_NANOSLEEP: break;
    }
    clock_gettime(CLOCK_MONOTONIC, &then);
    if (++then.tv_nsec == 1000000000)
        then.tv_sec++, then.tv_nsec = 0;
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == 0;
}

static __attribute__((noinline)) void keep_sleeping(const struct sleepers *sleepers, struct tally *mine)
{
    while (!sleepers->gate->stop) {
        if (!sleep_shortest())
            mine->failures++;
        mine->operations++;
    }
}

static void body(struct probe_run *run, int index, void *shared)
{
    const struct sleepers *sleepers = shared;
    (void)run;
    if (prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0) != 0) /* the slack belongs to the thread */
        probe_skip("the timer slack cannot be set: %s", strerror(errno));
    gate_pass(sleepers->gate);
    keep_sleeping(sleepers, &sleepers->tally[index]);
}

static uint64_t slept(const void *shared)
{
    const struct sleepers *sleepers = shared;
    return tally_operations(sleepers->tally, sleepers->count);
}

/* A run of few sleeps says nothing of fairness: each thread must have had a hundred on average. */
static void read_fairness(const struct sleepers *sleepers, struct probe_value *value)
{
    double sum = 0, squares = 0, fewest = 0, threads = sleepers->count;
    for (int i = 0; i < sleepers->count; i++) {
        double own = (double)sleepers->tally[i].operations;
        sum += own;
        squares += own * own;
        fewest = i == 0 || own < fewest ? own : fewest;
    }
    probe_reading(value, "fairness", sum * sum / (threads * squares));
    probe_reading(value, "fewest", fewest * threads / sum);
    probe_count(value, "enough", sleepers->count > 1 && sum >= 100 * threads);
}

static uint64_t failed(const struct sleepers *sleepers)
{
    uint64_t failures = 0;
    for (int i = 0; i < sleepers->count; i++)
        failures += sleepers->tally[i].failures;
    return failures;
}

static void setup(struct probe_run *run)
{
    struct sleepers *sleepers = run->state = probe_share(sizeof *sleepers);
    int policy = sched_getscheduler(0);
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        probe_caveat("the scheduling policy is real-time, under which the timer slack has no effect");
    call = probe_is(run, "call", "usleep") ? USLEEP : probe_is(run, "call", "nanosleep") ? NANOSLEEP : CLOCK_NANOSLEEP;
    slack_ns = (unsigned long)probe_integer(run, "slack_ns");
    sleepers->count = (int)probe_integer(run, "contexts");
    sleepers->gate = probe_share(sizeof *sleepers->gate);
    sleepers->tally = probe_share((uint64_t)sleepers->count * sizeof *sleepers->tally);
    sleepers->contexts = contexts_start(run, false, 0, sleepers->count, body, sleepers);
    timekeeper_become();
    gate_open(sleepers->gate, sleepers->count);
    timekeeper_sleep(slept, sleepers, (uint64_t)sleepers->count); /* while the first wakes all the others */
}

/* The timekeeper is not one of them: with a slack of 1 ns they may never give the CPU away. */
static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct sleepers *sleepers = run->state;
    uint64_t failures = failed(sleepers), own_switches = thread_switches().voluntary;
    value->lanes = (uint32_t)sleepers->count; /* sleeps go on at the same time, whatever the CPUs */
    probe_start(value);
    uint64_t before = slept(sleepers);
    timekeeper_sleep(slept, sleepers, before + operations);
    value->operations = slept(sleepers) - before;
    probe_stop(value);
    probe_count(value, "checked", value->operations - (failed(sleepers) - failures));
    probe_count(value, "voluntary_switches", value->voluntary - (thread_switches().voluntary - own_switches));
    read_fairness(sleepers, value);
}

static void teardown(struct probe_run *run)
{
    struct sleepers *sleepers = run->state;
    sleepers->gate->stop = true;
    contexts_join(run, sleepers->contexts);
}

static const struct probe sleep_probe = {
    .title = "shortest sleep",
    .question = "How long is the shortest sleep, and how much CPU time does it take?",
    .operation = "one call that sleeps for 0 or 1 ns, from its begin to its end in one context",
    .source = "shell909090/context t_sleep.c (2014); prctl(2) PR_SET_TIMERSLACK",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"sleep", "s", "lower", "wall", "operations", "time that one sleep of one context lasts"},
        {"sleep_cpu", "s", "lower", "cpu", "operations", "CPU time of one sleep"},
        {"voluntary_fraction", "1", "neither", "voluntary_switches", "operations",
         "share of the calls that gave the CPU away"},
        {"fairness", "1", "higher", "fairness", "enough",
         "Jain's index of the threads' sleeps: 1 if all had as many; from 100 of each on"},
        {"fewest", "1", "higher", "fewest", "enough", "sleeps of the thread that had fewest, over the mean"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "call", .doc = "what sleeps", .choices = "usleep,nanosleep,clock_nanosleep",
         .sweep = "usleep,nanosleep,clock_nanosleep", .brief = "usleep"},
        {.name = "slack_ns", .doc = "timer slack of each context", .unit = "ns", .sweep = "50000,1", .min = 1,
         .max = 1000000000},
        {.name = "contexts", .doc = "threads that sleep", .unit = "1", .sweep = "1,100", .min = 1, .max = 16384},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&sleep_probe, argc, argv);
}
