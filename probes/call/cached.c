/* SPDX-License-Identifier: Apache-2.0
 * cached - a PID kept in user space: what getpid() was in 2014, when its 4.36 ns were taken for a system call.
 *
 * Known answer: the sum of n results is n times the PID. That no call enters the kernel is proven once a run, in a
 * child whose system calls fail.
 * Overhead: the loop, which call/loop measures.
 * Limits: glibc up to 2.24 was called through the table of the dynamic linker, which adds an indirect jump; here the
 * call is direct, so that it differs from call/direct only by the load and the test.
 * Assembly: repeat contains (call|bl)\s.*<cached_pid>
 * Source: getpid(2), on glibc 2.3.4 to 2.24; s_syscall.c of shell909090/context, 2014, first version. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel_entry.h"
#include "probe.h"

static _Thread_local pid_t cache; /* each thread had its own, beside its stack */

/* The barrier makes the compiler load the number in each call: it sees that nothing here changes it. */
static __attribute__((noinline, aligned(PROBE_CACHE_LINE))) pid_t cached_pid(void)
{
    __asm__ volatile("" : : : "memory");
    pid_t pid = cache;
    if (__builtin_expect(pid <= 0, 0))
        cache = pid = (pid_t)syscall(SYS_getpid);
    return pid;
}

/* The same loop as in call/syscall: its mistaken twin of 2014. */
static __attribute__((noinline, aligned(PROBE_CACHE_LINE))) uint64_t repeat(uint64_t times)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < times; i++)
        sum += (uint64_t)cached_pid() + 1;
    return sum;
}

static bool cached_pid_works(void)
{
    return cached_pid() > 0;
}

static void setup(struct probe_run *run)
{
    (void)run;
    switch (kernel_entry(cached_pid_works)) {
    case STAYS_IN_USER_SPACE:
        break;
    case ENTERS_KERNEL:
        probe_fail("a PID in memory was not answered from memory");
    case KERNEL_ENTRY_UNKNOWN:
        probe_caveat("that a cached PID needs no kernel could not be proven here: seccomp filters are not allowed");
    }
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t expected = operations * ((uint64_t)getpid() + 1);
    probe_start(value);
    uint64_t sum = repeat(operations);
    probe_stop(value);
    probe_count(value, "checked", sum == expected ? operations : 0);
}

static const struct probe cached_probe = {
    .title = "PID kept by the C library",
    .question = "What does an answer cost that the C library remembers, as it did with the PID until 2017?",
    .operation = "one call of a function that returns a PID from the thread's memory and would ask the kernel if none "
                 "were there",
    .source = "getpid(2), on glibc 2.3.4 to 2.24; shell909090/context, s_syscall.c, 2014 (4.36 ns, taken for a system "
              "call)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .baseline = "call/loop",
    .metrics = (const struct probe_metric[]){
        {"cached_pid", "s", "lower", "wall", "operations", "time of one call for the remembered PID, with the loop"},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&cached_probe, argc, argv);
}
