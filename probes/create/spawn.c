/* SPDX-License-Identifier: Apache-2.0
 * spawn - a new program: this very binary, executed anew, whose main() returns at once.
 *
 * Known answer: every child is waited for by its PID and must have returned the code that main() returns for the word
 * it was given; the dynamic linker's own failure would be 127.
 * Overhead: the loop, nanoseconds against hundreds of microseconds.
 * Limits: executing is most of it: a new address space, the dynamic linker binding the C library, start and end of the
 * C runtime. Another program, more libraries or static linking make another figure. The environment is empty, because
 * its size would count.
 * Assembly: spawn_all contains (call|bl)\s.*<posix_spawn
 * Source: posix_spawn(3); lat_proc exec of lmbench, which forks and executes a program that does nothing. */
#define _GNU_SOURCE
#include <spawn.h>

#include "child.h"

#define CHILD_WORD "return-at-once"
#define CHILD_CODE 42

/* /proc/self/exe is this file under whatever name, even after a new build has replaced it; argv[0] may be relative. */
static __attribute__((noinline)) uint64_t spawn_all(uint64_t times)
{
    static char name[] = "spawn", word[] = CHILD_WORD;
    char *const arguments[] = {name, word, NULL}, *const environment[] = {NULL};
    uint64_t ended = 0;
    for (uint64_t i = 0; i < times; i++) {
        pid_t pid;
        int error = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environment);
        if (error)
            child_refused("posix_spawn()", error);
        ended += child_ended(pid, CHILD_CODE);
    }
    return ended;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    probe_start(value);
    uint64_t ended = spawn_all(operations);
    probe_stop(value);
    probe_count(value, "checked", ended);
}

static const struct probe spawn_probe = {
    .title = "another program",
    .question = "What does it cost to run another program?",
    .operation = "one posix_spawn() of a program that returns at once and waitpid() in the parent: exec, dynamic "
                 "linking and the end of the program included",
    .source = "L. McVoy, C. Staelin: lmbench: Portable Tools for Performance Analysis, USENIX 1996, process creation "
              "(lat_proc exec); posix_spawn(3)",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"spawn", "s", "lower", "wall", "operations", "time from the spawn to the known end of the program"},
        {"spawn_cpu", "s", "lower", "cpu", "operations", "CPU time of parent and child for it"},
        {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], CHILD_WORD) == 0)
        return CHILD_CODE;
    return probe_main(&spawn_probe, argc, argv);
}
