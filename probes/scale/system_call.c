/* SPDX-License-Identifier: Apache-2.0
 * system_call - the cheapest system call by 1 to N contexts at the same time: the control of this question.
 *
 * Known answer: the parent's PID does not change. It takes no lock that another one takes, so N contexts on N cores do N
 * times the work of one; where they do not, the CPUs share more than the kernel does (turbo, hardware threads, a quota).
 * Overhead: the loop and a count, under 1 ns.  Limits: those of call/syscall.
 * Assembly: go_on contains (call|bl)\s.*<getppid
 * Source: getppid1 of will-it-scale (Blanchard 2010). */
#define _GNU_SOURCE
#include "scale.h"

struct work {
    pid_t parent;
};

/* Of a process context the parent is the probe, of a thread the probe's own parent. */
static void make(struct probe_run *run, struct work *work, int index)
{
    (void)index;
    work->parent = probe_is(run, "kind", "process") ? getpid() : getppid();
}

static inline bool step(const struct work *work)
{
    return getppid() == work->parent;
}

SCALE_LOOP(step)

int main(int argc, char **argv)
{
    return scale_main(&(const struct way){
        .title = "system call, by many",
        .question = "Do several CPUs do several times as many system calls as one?",
        .operation = "one getppid()",
        .source = "will-it-scale getppid1 (Blanchard 2010)",
        .work_bytes = sizeof(struct work), .make = make, .go_on = go_on,
    }, argc, argv);
}
