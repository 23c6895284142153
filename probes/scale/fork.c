/* SPDX-License-Identifier: Apache-2.0
 * fork - 1 to N contexts create a process that ends at once, and wait for it.
 *
 * Known answer: every child is waited for by its PID and must have ended by itself with the exit code it was given.
 * Overhead: the loop and a count, nanoseconds.  Limits: those of create/fork. Of threads all children are copies of one
 * address space, whose lock each fork() takes.
 * Assembly: go_on contains (call|bl)\s.*<_Fork|(call|bl)\s.*<fork
 * Source: lat_proc fork of lmbench (McVoy & Staelin, USENIX 1996), here by many at a time. */
#define _GNU_SOURCE
#include "scale.h"

#include "child.h"

struct work {
    uint64_t number;
};

/* _exit(), because exit() would run the parent's handlers and write its buffers again. */
static inline bool step(struct work *work)
{
    int code = child_code(work->number++);
    pid_t pid = fork();
    if (pid == 0)
        _exit(code);
    return pid > 0 && child_ended(pid, code);
}

SCALE_LOOP(step)

int main(int argc, char **argv)
{
    return scale_main(&(const struct way){
        .title = "fork, by many",
        .question = "Do several CPUs create several times as many processes as one?",
        .operation = "one fork(), _exit() in the child and waitpid() in the parent",
        .source = "lmbench lat_proc fork (McVoy & Staelin, USENIX 1996), here by many at a time",
        .work_bytes = sizeof(struct work), .go_on = go_on,
    }, argc, argv);
}
