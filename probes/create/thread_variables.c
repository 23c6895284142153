/* SPDX-License-Identifier: Apache-2.0
 * thread_variables - a POSIX thread created and joined in a program that has 64 KiB of thread variables: what they add
 * to create/thread, whose program has none.
 *
 * Each thread gets a copy of all of them when it is created, whether it uses them or not.
 *
 * Known answer: a thread finds the first values of the first and of the last variable, changes them, and returns both;
 * the next one, which gets the same memory from the cache of stacks, has to find the first values again.
 * Overhead: the loop, and four accesses to memory in the thread.
 * Limits: variables that begin with a value, which is copied; those that begin with zero are cleared.
 * Assembly: create_joined contains (call|bl)\s.*<pthread_create
 * Source: the tuning article on caches of wzxue.com (2012); U. Drepper, ELF Handling For Thread-Local Storage. */
#include "probe.h"

#include <pthread.h>
#include <string.h>

#define VARIABLES 16384

static _Thread_local volatile uint32_t variables[VARIABLES] = {1, [VARIABLES - 1] = 2};

static void *change(void *unused)
{
    (void)unused;
    uintptr_t found = variables[0] * 10 + variables[VARIABLES - 1];
    variables[0] = variables[VARIABLES - 1] = 7;
    return (void *)found;
}

static __attribute__((noinline)) uint64_t create_joined(uint64_t times)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++) {
        pthread_t thread;
        void *found = NULL;
        int error = pthread_create(&thread, NULL, change, NULL);
        if (error)
            probe_skip("pthread_create(): %s; see ulimit -u and the pids limit of the cgroup", strerror(error));
        pthread_join(thread, &found);
        right += (uintptr_t)found == 12;
    }
    return right;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    probe_start(value);
    uint64_t right = create_joined(operations);
    probe_stop(value);
    probe_count(value, "checked", right);
}

static const struct probe thread_variables_probe = {
    .title = "thread with 64 KiB of thread variables",
    .question = "What does a thread cost in a program with 64 KiB of thread variables?",
    .operation = "one pthread_create() and pthread_join() of a thread that uses two of its 16384 variables",
    .source = "the tuning article on caches of wzxue.com (2012); U. Drepper: ELF Handling For Thread-Local Storage",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"thread", "s", "lower", "wall", "operations", "time from the creation to the known completion of the thread"},
        {"thread_cpu", "s", "lower", "cpu", "operations", "CPU time of both threads for it"},
        {0}},
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&thread_variables_probe, argc, argv);
}
