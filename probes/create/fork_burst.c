/* SPDX-License-Identifier: Apache-2.0
 * fork_burst - many children created before the first is waited for: the form of 2014, with parent or child first.
 *
 * reap=waitpid: when all have been created, they are waited for, each by its PID. reap=signal: a handler of SIGCHLD
 * waits for those that have ended, as soon as they end, as a server does; the parent sleeps for the rest.
 *
 * Known answer: every child ends with the exit code it was given; a handler, which meets them in any order, has to have
 * met as many and codes of the right sum. Whether a child ran before the parent went on is not assumed from the
 * sched_yield(): each child leaves its number in a place that the parent looks at.
 * Overhead: the child's note is a page fault on shared memory, below a microsecond.
 * Limits: a batch is rounded up to whole bursts. Where the limit on processes is met, all children are waited for and
 * the fork is tried again, as in 2014; refusals are counted, and a caveat says that the bursts were shorter.
 * Assembly: create contains (call|bl)\s.*<fork
 * Source: s_fork.c of shell909090/context, 2014, which left reaping by signals out, as slower than the fork itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "child.h"

struct child { pid_t pid; uint64_t number; };

struct burst {
    uint64_t size;
    bool child_first, by_signal;
    struct child *child;      /* those not waited for */
    volatile uint64_t *ran;   /* shared: the number of the child that ran last at this place */
    uint64_t outstanding, most_outstanding;
    uint64_t number;          /* of the last child; never used again, or an old note could be taken for a new one */
    uint64_t ran_first, ended, refusals;
};

/* What the handler has met since the burst began; and the set of signals to sleep with. */
static volatile sig_atomic_t reaped;
static volatile uint64_t codes;
static sigset_t without_children;

static void reap_the_ended(int signal_number)
{
    int status, error = errno;
    (void)signal_number;
    while (waitpid(-1, &status, WNOHANG) > 0) {
        codes += WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 0;
        reaped++;
    }
    errno = error;
}

/* Signals of one kind do not queue up, so that a handler may meet many children or none. */
static void await_handler(struct burst *burst)
{
    uint64_t expected = 0;
    for (uint64_t i = 0; i < burst->outstanding; i++)
        expected += (uint64_t)child_code(burst->child[i].number);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL); /* or the last one could end between the question and the sleep */
    while ((uint64_t)reaped < burst->outstanding)
        sigsuspend(&without_children);
    burst->ended += codes == expected ? (uint64_t)reaped : 0;
    reaped = 0;
    codes = 0;
    sigprocmask(SIG_UNBLOCK, &children, NULL);
    burst->outstanding = 0;
}

static void wait_for_all(struct burst *burst)
{
    if (burst->by_signal) {
        await_handler(burst);
        return;
    }
    for (uint64_t i = 0; i < burst->outstanding; i++)
        burst->ended += child_ended(burst->child[i].pid, child_code(burst->child[i].number));
    burst->outstanding = 0;
}

static void make_room(struct burst *burst, int error)
{
    if (error != EAGAIN || burst->outstanding == 0)
        child_refused("fork()", error);
    burst->refusals++;
    wait_for_all(burst);
}

/* False if the machine allows no further child and those outstanding had to be waited for. */
static __attribute__((noinline)) bool create(struct burst *burst)
{
    uint64_t place = burst->outstanding, number = burst->number + 1;
    pid_t pid = fork();
    if (pid == 0) {
        burst->ran[place] = number;
        _exit(child_code(number));
    }
    if (pid < 0) {
        make_room(burst, errno);
        return false;
    }
    if (burst->child_first)
        sched_yield();
    burst->ran_first += burst->ran[place] == number;
    burst->child[place] = (struct child){pid, number};
    burst->number = number;
    if (++burst->outstanding > burst->most_outstanding)
        burst->most_outstanding = burst->outstanding;
    return true;
}

static void one_burst(struct burst *burst)
{
    for (uint64_t created = 0; created < burst->size;)
        created += create(burst);
    wait_for_all(burst);
}

static void setup(struct probe_run *run)
{
    struct burst *burst = calloc(1, sizeof *burst);
    if (!burst)
        probe_fail("out of memory");
    burst->size = (uint64_t)probe_integer(run, "outstanding");
    burst->child_first = probe_is(run, "first", "child");
    burst->by_signal = probe_is(run, "reap", "signal");
    if (burst->by_signal) {
        sigprocmask(SIG_SETMASK, NULL, &without_children);
        sigdelset(&without_children, SIGCHLD);
        sigaction(SIGCHLD, &(struct sigaction){.sa_handler = reap_the_ended, .sa_flags = SA_RESTART | SA_NOCLDSTOP}, NULL);
    }
    burst->child = calloc(burst->size, sizeof *burst->child);
    if (!burst->child)
        probe_fail("out of memory");
    burst->ran = probe_share(burst->size * sizeof *burst->ran);
    run->state = burst;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct burst *burst = run->state;
    uint64_t bursts = (operations + burst->size - 1) / burst->size;
    burst->ran_first = burst->ended = burst->refusals = burst->most_outstanding = 0;
    value->operations = bursts * burst->size;
    probe_start(value);
    for (uint64_t i = 0; i < bursts; i++)
        one_burst(burst);
    probe_stop(value);
    probe_count(value, "checked", burst->ended);
    probe_count(value, "child_ran_first", burst->ran_first);
    probe_count(value, "most_outstanding", burst->most_outstanding);
    probe_count(value, "refusals", burst->refusals);
    if (burst->refusals)
        probe_caveat("the limit on processes was met before %llu children were outstanding; see ulimit -u and the pids "
                     "limit of the cgroup", (unsigned long long)burst->size);
}

static void teardown(struct probe_run *run)
{
    struct burst *burst = run->state;
    signal(SIGCHLD, SIG_DFL);
    free(burst->child);
    free(burst);
}

static const struct probe fork_burst_probe = {
    .title = "burst of processes, by fork",
    .question = "What does a process cost when many are created before any is waited for?",
    .operation = "one fork() and _exit() in the child, and its share of waiting for the whole burst",
    .source = "shell909090/context, s_fork.c, 2014 (50.99 us parent first, 46.74 us child first, up to the limit on "
              "processes outstanding)",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"fork", "s", "lower", "wall", "operations", "time of a burst over its children, waiting included"},
        {"fork_cpu", "s", "lower", "cpu", "operations", "CPU time of parent and child for it"},
        {"child_first_fraction", "1", "neither", "child_ran_first", "operations",
         "share of the children that had run before the parent went on"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "first", .doc = "who shall run first: the parent goes on, or yields to the child",
         .choices = "parent,child", .sweep = "parent,child"},
        {.name = "outstanding", .doc = "children created before all are waited for", .unit = "1",
         .sweep = "100,2,4,8,16,32,300,1000", .brief = "100", .min = 1, .max = 100000},
        {.name = "reap", .doc = "who meets the children that have ended: waitpid() by their PIDs after the last fork, or "
                                "a handler of SIGCHLD meanwhile",
         .choices = "waitpid,signal", .sweep = "waitpid,signal", .brief = "waitpid"},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&fork_burst_probe, argc, argv);
}
