/* SPDX-License-Identifier: Apache-2.0
 * thread - a POSIX thread created and completed, one at a time: joined, detached, or on the smallest stack.
 *
 * Known answer: a joined thread returns the complement of what it was given; a detached one adds to a count on which
 * the creator waits, so both prove that the thread ran and not only that it was created.
 * Overhead: the loop, nanoseconds against microseconds.
 * Limits: the C library keeps the stacks of ended threads (glibc up to 40 MiB), so after the first operation none is
 * mapped anew: the cache is part of what is measured, and so is the madvise() with which glibc gives back the pages of
 * a large stack, and not of a small one. A detached thread has not quite ended when it says so: its last system calls
 * fall into the next operation, and its stack comes back later.
 * Assembly: create_joined contains (call|bl)\s.*<pthread_create
 * Source: t_thread.c of shell909090/context, 2014; U. Drepper, I. Molnar, The Native POSIX Thread Library for Linux. */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

#define SMALL_STACK_BYTES (16u * 1024)

struct form {
    bool detached;
    pthread_attr_t attributes;
};

static _Atomic uint32_t completed; /* a futex: 32 bits on every machine */

static void *answer(void *question)
{
    return (void *)~(uintptr_t)question;
}

static void *report(void *unused)
{
    atomic_fetch_add(&completed, 1);
    syscall(SYS_futex, &completed, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return unused;
}

static void create_one(const struct form *form, pthread_t *thread, void *(*body)(void *), void *argument)
{
    int error = pthread_create(thread, &form->attributes, body, argument);
    if (error)
        probe_skip("pthread_create(): %s; see ulimit -u and the pids limit of the cgroup", strerror(error));
}

static __attribute__((noinline)) uint64_t create_joined(const struct form *form, uint64_t times)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++) {
        pthread_t thread;
        void *result = NULL;
        create_one(form, &thread, answer, (void *)(uintptr_t)i);
        pthread_join(thread, &result);
        right += result == (void *)~(uintptr_t)i;
    }
    return right;
}

/* One at a time here too: creating all and waiting for the last would be a burst, which no other form is. */
static __attribute__((noinline)) uint64_t create_detached(const struct form *form, uint64_t times)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++) {
        pthread_t thread;
        uint32_t before = atomic_load(&completed);
        create_one(form, &thread, report, NULL);
        while (atomic_load(&completed) == before)
            syscall(SYS_futex, &completed, FUTEX_WAIT_PRIVATE, before, NULL, NULL, 0);
        right += atomic_load(&completed) == before + 1;
    }
    return right;
}

/* The library's minimum holds the thread-local storage and a signal frame, and can be above what was asked for. */
static void use_small_stack(pthread_attr_t *attributes)
{
    long minimum = sysconf(_SC_THREAD_STACK_MIN);
    size_t bytes = minimum > (long)SMALL_STACK_BYTES ? (size_t)minimum : SMALL_STACK_BYTES;
    int error = pthread_attr_setstacksize(attributes, bytes);
    if (error)
        probe_fail("the C library refuses its own smallest stack of %zu bytes: %s", bytes, strerror(error));
}

static void setup(struct probe_run *run)
{
    struct form *form = calloc(1, sizeof *form);
    if (!form)
        probe_fail("out of memory");
    form->detached = probe_is(run, "form", "detached");
    pthread_attr_init(&form->attributes);
    if (form->detached)
        pthread_attr_setdetachstate(&form->attributes, PTHREAD_CREATE_DETACHED);
    if (probe_is(run, "form", "small_stack"))
        use_small_stack(&form->attributes);
    run->state = form;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct form *form = run->state;
    size_t stack_bytes = 0;
    pthread_attr_getstacksize(&form->attributes, &stack_bytes);
    probe_start(value);
    uint64_t right = form->detached ? create_detached(form, operations) : create_joined(form, operations);
    probe_stop(value);
    probe_count(value, "checked", right);
    probe_count(value, "stack_bytes", stack_bytes);
}

static void teardown(struct probe_run *run)
{
    struct form *form = run->state;
    pthread_attr_destroy(&form->attributes);
    free(form);
}

static const struct probe thread_probe = {
    .title = "thread",
    .question = "What does a thread cost?",
    .operation = "one pthread_create() and the proven end of the thread: pthread_join(), or a count that a detached "
                 "thread adds to; stacks come from the cache of the C library",
    .source = "shell909090/context, t_thread.c, 2014 (9.53 us); U. Drepper, I. Molnar: The Native POSIX Thread Library "
              "for Linux, 2005",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"thread", "s", "lower", "wall", "operations", "time from the creation to the known completion of the thread"},
        {"thread_cpu", "s", "lower", "cpu", "operations", "CPU time of both threads for it"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "form", .doc = "joined; detached; joined with a stack of 16 KiB or the library's minimum",
         .choices = "join,detached,small_stack", .sweep = "join,detached,small_stack"},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&thread_probe, argc, argv);
}
