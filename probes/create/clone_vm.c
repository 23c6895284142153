/* SPDX-License-Identifier: Apache-2.0
 * clone_vm - a process that shares memory, files and signal handlers with its parent: a thread without the library.
 *
 * Known answer: every child is waited for by its PID and must have ended by itself with the exit code it was given.
 * Overhead: the loop, nanoseconds against microseconds.
 * Limits: all children use one stack after each other, already touched; there is no thread-local storage, no guard
 * page, no list of threads. So it is the kernel's part of create/thread, but for the wait, which is a process's.
 * Assembly: clone_all contains (call|bl)\s.*<clone
 * Source: clone(2). */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "child.h"

#define STACK_BYTES (64u * 1024)
/* Without CLONE_VFORK the parent runs on, hence the stack; with SIGCHLD waitpid() works as for any child. */
#define SHARED (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD)

/* Touches nothing of the C library: the parent's thread-local storage, errno included, is in use by the parent. */
static int child(void *code)
{
    return (int)(intptr_t)code;
}

static __attribute__((noinline)) uint64_t clone_all(char *stack_top, uint64_t times)
{
    uint64_t ended = 0;
    for (uint64_t i = 0; i < times; i++) {
        int code = child_code(i);
        pid_t pid = clone(child, stack_top, SHARED, (void *)(intptr_t)code);
        if (pid < 0)
            child_refused("clone()", errno);
        ended += child_ended(pid, code);
    }
    return ended;
}

static void setup(struct probe_run *run)
{
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        probe_fail("no memory for a stack: %s", strerror(errno));
    run->state = stack;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    probe_start(value);
    uint64_t ended = clone_all((char *)run->state + STACK_BYTES, operations);
    probe_stop(value);
    probe_count(value, "checked", ended);
}

static const struct probe clone_vm_probe = {
    .title = "process that shares memory, by clone",
    .question = "What does a process cost that shares everything with its parent, as a thread does?",
    .operation = "one clone() that shares memory, files and signal handlers, its end and waitpid() in the parent",
    .source = "clone(2)",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"clone", "s", "lower", "wall", "operations", "time from the clone to the known end of the child"},
        {"clone_cpu", "s", "lower", "cpu", "operations", "CPU time of parent and child for it"},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&clone_vm_probe, argc, argv);
}
