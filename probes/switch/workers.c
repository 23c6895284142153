/* SPDX-License-Identifier: Apache-2.0
 * workers - jobs that compute and wait, done by as many workers as the CPUs are, one more, or a multiple of them.
 *
 * A job is 200 us: a part in which it computes, and a part in which it waits as for a disk or for another machine. A
 * worker does one job after the other. With fewer workers than there is work for, CPUs idle while jobs wait; with more,
 * workers wait for CPUs. How many are best is what rules of thumb say: N, N + 1, 2 N, 2 N + 1.
 *
 * The workers run from the first batch to the last; a batch is two readings of what each has counted, taken by a
 * timekeeper outside (contexts.h). So it has no start and no end, where an odd worker would wait for the others.
 *
 * Known answer: every job's chain of multiplications ends with the one value that it must end with. How long its
 * computing takes is found out once in each run, by the least of several.
 * Overhead: counting, under 1 ns a job; a wait is a timer with a slack of 1 ns, which wakes some microseconds late.
 * Limits: jobs share nothing, neither caches nor locks nor a database; a connection of a database is a worker of this
 * kind only as long as nothing else is the limit. The time from one job to the next is that of all workers together.
 * Assembly: compute contains imul|madd|mul
 * Source: shell909090/context (2014), which advises against N + 1; the documentation of gunicorn (2 N + 1 workers), and
 * of HikariCP, About Pool Sizing (2 N connections and one for each disk). */
#define _GNU_SOURCE
#include "contexts.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define JOB_NS UINT64_C(200000)
#define FACTOR UINT64_C(6364136223846793005)
#define WEIGHED 20 /* times that the computing of a job is timed, to find its number of steps */

struct crew {
    int workers;
    uint64_t steps, answer, wait_ns;
    struct gate *gate;
    struct tally *tally; /* one a worker */
    struct contexts *contexts;
};

/* A dependent chain: the processor cannot overlap it and the compiler cannot shorten it. */
static __attribute__((noinline)) uint64_t compute(uint64_t steps)
{
    uint64_t value = 1;
    for (uint64_t i = 0; i < steps; i++) {
        value = value * FACTOR + 1;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

static bool wait_for_others(uint64_t wait_ns)
{
    struct timespec time = {.tv_nsec = (long)wait_ns};
    return wait_ns == 0 || nanosleep(&time, NULL) == 0;
}

static void body(struct probe_run *run, int index, void *shared)
{
    const struct crew *crew = shared;
    struct tally *mine = &crew->tally[index];
    (void)run;
    if (prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0) != 0) /* the slack belongs to the thread */
        probe_skip("the timer slack cannot be set: %s", strerror(errno));
    gate_pass(crew->gate);
    while (!crew->gate->stop) {
        bool right = compute(crew->steps) == crew->answer;
        right &= wait_for_others(crew->wait_ns);
        mine->failures += !right;
        mine->operations++;
    }
}

/* The steps that take so long on this machine, alone on its CPU. */
static uint64_t steps_of(uint64_t length_ns)
{
    const uint64_t steps = 20000;
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < WEIGHED; i++) {
        uint64_t begin_ns = probe_now_ns();
        compute(steps);
        uint64_t passed_ns = probe_now_ns() - begin_ns;
        least_ns = passed_ns < least_ns ? passed_ns : least_ns;
    }
    return steps * length_ns / (least_ns + 1) + 1;
}

static int workers_of(const struct probe_run *run)
{
    if (probe_is(run, "workers", "n"))
        return run->cpus;
    if (probe_is(run, "workers", "n_plus_1"))
        return run->cpus + 1;
    if (probe_is(run, "workers", "2n"))
        return 2 * run->cpus;
    if (probe_is(run, "workers", "2n_plus_1"))
        return 2 * run->cpus + 1;
    return 4 * run->cpus;
}

static uint64_t done(const void *shared)
{
    const struct crew *crew = shared;
    return tally_operations(crew->tally, crew->workers);
}

static uint64_t failed(const struct crew *crew)
{
    uint64_t failures = 0;
    for (int i = 0; i < crew->workers; i++)
        failures += crew->tally[i].failures;
    return failures;
}

static void setup(struct probe_run *run)
{
    struct crew *crew = run->state = probe_share(sizeof *crew);
    uint64_t waits = (uint64_t)probe_integer(run, "waits_percent");
    crew->workers = workers_of(run);
    crew->wait_ns = JOB_NS * waits / 100;
    crew->steps = steps_of(JOB_NS - crew->wait_ns);
    crew->answer = compute(crew->steps);
    crew->gate = probe_share(sizeof *crew->gate);
    crew->tally = probe_share((uint64_t)crew->workers * sizeof *crew->tally);
    crew->contexts = contexts_start(run, false, 0, crew->workers, body, crew);
    timekeeper_become();
    gate_open(crew->gate, crew->workers);
    timekeeper_sleep(done, crew, (uint64_t)crew->workers); /* while the first wakes all the others */
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct crew *crew = run->state;
    uint64_t failures = failed(crew);
    probe_start(value);
    uint64_t before = done(crew);
    timekeeper_sleep(done, crew, before + operations);
    value->operations = done(crew) - before;
    probe_stop(value);
    probe_count(value, "checked", value->operations - (failed(crew) - failures));
    probe_count(value, "workers", (uint64_t)crew->workers);
}

static void teardown(struct probe_run *run)
{
    struct crew *crew = run->state;
    crew->gate->stop = true;
    contexts_join(run, crew->contexts);
}

static const struct probe workers_probe = {
    .title = "workers that compute and wait",
    .question = "How many workers do the jobs of N CPUs need?",
    .operation = "one job of 200 us, of which it waits a part; done by any of the workers",
    .source = "shell909090/context (2014); the documentation of gunicorn and of HikariCP",
    .statistic = "median",
    .placements = "free,same",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"job", "s", "lower", "wall", "operations", "time from one job that is done to the next, by all workers together"},
        {"job_cpu", "s", "lower", "cpu", "operations", "CPU time of one job"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "workers", .doc = "threads that work, where n is the number of CPUs",
         .choices = "n,n_plus_1,2n,2n_plus_1,4n", .sweep = "n,n_plus_1,2n,2n_plus_1,4n", .brief = "n,n_plus_1"},
        {.name = "waits_percent", .doc = "part of a job in which it waits and needs no CPU", .unit = "1",
         .sweep = "0,10,50,90", .brief = "0,50", .min = 0, .max = 99},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&workers_probe, argc, argv);
}
