/* SPDX-License-Identifier: Apache-2.0
 * vfork - a process that borrows its parent's memory while the parent stands still, ends at once and is waited for.
 *
 * Known answer: every child is waited for by its PID and must have ended by itself with the exit code it was given.
 * Overhead: the loop, nanoseconds against microseconds.
 * Limits: nothing is copied, so the memory of the parent makes no difference. What programs do with vfork() is to
 * execute another program: create/spawn.
 * Assembly: vfork_one contains (call|bl)\s.*<vfork
 * Source: vfork(2); W. R. Stevens, Advanced Programming in the UNIX Environment, 1992, section 8.4. */
#define _GNU_SOURCE
#include <errno.h>

#include "child.h"

/* Alone in a function: the child runs on the parent's stack, so nothing here may be changed between the two returns. */
static __attribute__((noinline)) pid_t vfork_one(int code)
{
    pid_t pid = vfork();
    if (pid == 0)
        _exit(code);
    return pid;
}

static uint64_t vfork_all(uint64_t times)
{
    uint64_t ended = 0;
    for (uint64_t i = 0; i < times; i++) {
        pid_t pid = vfork_one(child_code(i));
        if (pid < 0)
            child_refused("vfork()", errno);
        ended += child_ended(pid, child_code(i));
    }
    return ended;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    probe_start(value);
    uint64_t ended = vfork_all(operations);
    probe_stop(value);
    probe_count(value, "checked", ended);
}

static const struct probe vfork_probe = {
    .title = "process, by vfork",
    .question = "What does a process cost that copies nothing of its parent?",
    .operation = "one vfork(), _exit() in the child and waitpid() in the parent",
    .source = "vfork(2); W. R. Stevens, Advanced Programming in the UNIX Environment, 1992, section 8.4",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"vfork", "s", "lower", "wall", "operations", "time from the vfork to the known end of the child"},
        {"vfork_cpu", "s", "lower", "cpu", "operations", "CPU time of parent and child for it"},
        {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&vfork_probe, argc, argv);
}
