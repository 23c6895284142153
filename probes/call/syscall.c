/* SPDX-License-Identifier: Apache-2.0
 * syscall - a system call that does next to nothing: the price of entering the kernel and coming back.
 *
 * Known answer: the parent's PID does not change, so the sum of n results is n times the known one. That getppid() is a
 * real system call is proven once a run, in a child whose system calls fail.
 * Overhead: the loop (call/loop), a fraction of a percent.
 * Limits: the best case of an entry: caches and predictors are warm, no signal or reschedule waits on the way out. What
 * it costs is mostly the kernel's mitigations against speculation, which the machine's facts list.
 * Assembly: repeat contains (call|bl)\s.*<getppid
 * Source: lat_syscall null of lmbench 3; perf bench syscall basic; s_syscall.c of shell909090/context, 2014. */
#define _GNU_SOURCE
#include <unistd.h>

#include "kernel_entry.h"
#include "probe.h"

/* getppid() and not getpid(), which glibc before 2.25 answered from memory; and not syscall(SYS_getppid), which
 * shuffles seven arguments first. One is added to each result, at no cost, because a parent outside the PID namespace
 * is number 0, whose sum would prove nothing. */
static __attribute__((noinline, aligned(PROBE_CACHE_LINE))) uint64_t repeat(uint64_t times)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < times; i++)
        sum += (uint64_t)getppid() + 1;
    return sum;
}

static bool getppid_works(void)
{
    return getppid() >= 0; /* what the refusing kernel answers is a negative number */
}

static void setup(struct probe_run *run)
{
    (void)run;
    switch (kernel_entry(getppid_works)) {
    case ENTERS_KERNEL:
        break;
    case STAYS_IN_USER_SPACE:
        probe_skip("getppid() is answered without entering the kernel here: its time is not that of a system call");
    case KERNEL_ENTRY_UNKNOWN:
        probe_caveat("that getppid() enters the kernel could not be proven here: seccomp filters are not allowed");
    }
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t expected = operations * ((uint64_t)getppid() + 1);
    probe_start(value);
    uint64_t sum = repeat(operations);
    probe_stop(value);
    probe_count(value, "checked", sum == expected ? operations : 0);
}

static const struct probe syscall_probe = {
    .title = "system call",
    .question = "What does it cost to enter the kernel and to come back?",
    .operation = "one getppid() of the C library, which is a real system call",
    .source = "perf bench syscall basic (Linux, tools/perf/bench/syscall.c); lmbench 3, lat_syscall null (in the paper "
              "of 1996 a write to /dev/null); shell909090/context, s_syscall.c, 2014 (49.5 ns)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .baseline = "call/loop",
    .metrics = (const struct probe_metric[]){
        {"system_call", "s", "lower", "wall", "operations", "time of one system call, with the loop"}, {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&syscall_probe, argc, argv);
}
