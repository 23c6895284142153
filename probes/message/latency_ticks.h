/* SPDX-License-Identifier: Apache-2.0
 * latency_ticks.h - the cheapest clock that ticks evenly: what a single message is timed with.
 *
 * clock_gettime() is about 19 ns where reading the processor's counter is 9, and a message may take 150. The counter's
 * rate is not asked for but measured against CLOCK_MONOTONIC over the whole run, which only gets better with time. */
#ifndef STEELYARD_MESSAGE_LATENCY_TICKS_H
#define STEELYARD_MESSAGE_LATENCY_TICKS_H

#include "probe.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

struct ticks {
    bool counter; /* or else nanoseconds of CLOCK_MONOTONIC */
    uint64_t first, first_ns;
};

/* Not ordered against what stands around it, which is for system calls and for waiting on memory no loss: a fence would
 * cost as much again. */
static inline uint64_t ticks_now(const struct ticks *ticks)
{
#if defined(__x86_64__)
    if (ticks->counter)
        return __rdtsc();
#elif defined(__aarch64__)
    if (ticks->counter) {
        uint64_t now;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
        return now;
    }
#endif
    (void)ticks;
    return probe_now_ns();
}

/* On x86-64 only where the processor says that the counter neither stops nor follows the clock speed (CPUID 80000007h,
 * EDX bit 8); the architecture of AArch64 promises it. */
static bool ticks_are_even(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

static struct ticks ticks_start(void)
{
    struct ticks ticks = {.counter = ticks_are_even()};
    ticks.first_ns = probe_now_ns();
    ticks.first = ticks_now(&ticks);
    return ticks;
}

/* Length of a tick, from all that passed since the start. */
static double ticks_seconds(const struct ticks *ticks)
{
    uint64_t passed_ns = probe_now_ns() - ticks->first_ns, passed = ticks_now(ticks) - ticks->first;
    return passed ? (double)passed_ns * 1e-9 / (double)passed : 1e-9;
}

#endif
