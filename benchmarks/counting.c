/* SPDX-License-Identifier: Apache-2.0
 * counting KIND STATE - what open counters do to a pipe round trip of two threads on one CPU.
 *
 * KIND is hardware or software; STATE is none, disabled (open, and not counting) or counting. Prints the nanoseconds of
 * a round trip: the lower quartile of 20 batches. Source: the pipe of lmbench's lat_pipe. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 20
#define ROUND_TRIPS 4000

static const uint64_t hardware[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES,
                                    PERF_COUNT_HW_CACHE_MISSES};
static const uint64_t software[] = {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CONTEXT_SWITCHES,
                                    PERF_COUNT_SW_CPU_MIGRATIONS};
static int there[2], back[2];

static void *answer(void *unused)
{
    char c;
    while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
        continue;
    return unused;
}

static void open_counters(int by_software, int disabled)
{
    for (int i = 0; i < 4; i++) {
        struct perf_event_attr attributes = {
            .type = by_software ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE, .size = sizeof attributes,
            .config = by_software ? software[i] : hardware[i], .disabled = disabled, .inherit = 1,
        };
        if (syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
            perror("perf_event_open");
            exit(77);
        }
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    double round_trip_ns[BATCHES];
    pthread_t partner;
    cpu_set_t one;
    char c = 'x';
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    if (argc != 3 || sched_setaffinity(0, sizeof one, &one) != 0 || pipe(there) != 0 || pipe(back) != 0)
        return 2;
    if (strcmp(argv[2], "none") != 0)
        open_counters(strcmp(argv[1], "software") == 0, strcmp(argv[2], "disabled") == 0);
    if (pthread_create(&partner, NULL, answer, NULL) != 0)
        return 1;
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = now_ns();
        for (int i = 0; i < ROUND_TRIPS; i++)
            if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
                return 1;
        round_trip_ns[batch] = (now_ns() - begin) / ROUND_TRIPS;
    }
    qsort(round_trip_ns, BATCHES, sizeof *round_trip_ns, compare);
    printf("%.1f\n", round_trip_ns[BATCHES / 4]);
    return 0;
}
