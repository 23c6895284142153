/* SPDX-License-Identifier: Apache-2.0
 * vdso - reading the clock with code that the kernel maps into every process: a service without entering the kernel.
 *
 * Known answer: the time never goes back, and all of it lies between a reading before and a reading after the batch.
 * That no reading is a system call is proven once a run, in a child whose system calls fail.
 * Overhead: the loop (call/loop) and the comparison with the reading before, about a nanosecond.
 * Limits: most of it is reading the time-stamp counter in order, so it tells more of the processor and of the
 * hypervisor than of the vDSO. Where the clock source can't be read from user space, a caveat says so.
 * Assembly: repeat contains (call|bl)\s.*<clock_gettime
 * Source: vdso(7); the third kind of call beside those of shell909090/context, 2014. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kernel_entry.h"
#include "probe.h"

/* Ordered as the times are; seconds times 10^9 would put a multiplication into the loop. */
static inline uint64_t order(const struct timespec *time)
{
    return (uint64_t)time->tv_sec << 32 | (uint64_t)time->tv_nsec;
}

static uint64_t read_once(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return order(&now);
}

static __attribute__((noinline, aligned(PROBE_CACHE_LINE))) uint64_t repeat(uint64_t *previous, uint64_t times)
{
    uint64_t wrong = 0, last = *previous;
    for (uint64_t i = 0; i < times; i++) {
        struct timespec time;
        wrong += clock_gettime(CLOCK_MONOTONIC, &time) != 0;
        uint64_t now = order(&time);
        wrong += now < last;
        last = now;
    }
    *previous = last;
    return wrong;
}

static bool clock_works(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0;
}

static void clock_source(char *name, size_t size)
{
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!file || !fgets(name, (int)size, file))
        snprintf(name, size, "unknown");
    name[strcspn(name, "\n")] = 0;
    if (file)
        fclose(file);
}

static void setup(struct probe_run *run)
{
    (void)run;
    char source[64];
    enum kernel_entry entry = kernel_entry(clock_works);
    if (entry == STAYS_IN_USER_SPACE)
        return;
    clock_source(source, sizeof source);
    if (entry == ENTERS_KERNEL)
        probe_caveat("clock_gettime() enters the kernel here (clock source %s): this is the cost of a system call",
                     source);
    else
        probe_caveat("whether clock_gettime() enters the kernel can't be told here: seccomp filters are not allowed "
                     "(clock source %s)", source);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t before = read_once(), last = before;
    probe_start(value);
    uint64_t wrong = repeat(&last, operations);
    probe_stop(value);
    if (last <= before || last > read_once())
        probe_fail("the clock was read %" PRIu64 " times and did not go on with the time", operations);
    probe_count(value, "checked", operations - wrong);
}

static const struct probe vdso_probe = {
    .title = "clock, by the vDSO",
    .question = "What does a service of the kernel cost that needs no entry into the kernel?",
    .operation = "one clock_gettime(CLOCK_MONOTONIC) of the C library, answered by the vDSO",
    .source = "vdso(7); beside the calls of shell909090/context, 2014",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .baseline = "call/loop",
    .metrics = (const struct probe_metric[]){
        {"clock_read", "s", "lower", "wall", "operations", "time of one reading of the clock, with the loop"}, {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&vdso_probe, argc, argv);
}
