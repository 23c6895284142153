/* SPDX-License-Identifier: Apache-2.0
 * timer - a timer is set that does not come due: what a deadline costs that is kept, as most are.
 *
 *	timerfd    timerfd_settime(), for a descriptor that epoll could watch
 *	posix      timer_settime() of a timer that would raise a signal
 *	cpu        the same of a timer that runs with the process's CPU time
 *	interval   setitimer() of the process's one timer
 *	over       clock_nanosleep() to a moment that is over: the kernel sets its timer all the same, and sleeps until it fires
 *
 * Known answer: each but the last is set a second later than the one before, an hour ahead and more, and after the last the kernel
 * says how long is left: what that one asked for.
 * Overhead: the loop, under 1 ns.  Limits: one timer is taken out of the kernel's tree of timers and put in again, beside so
 * many others of its kind that are set. How late it comes is wake/timer.
 * Assembly: set_all contains (call|bl)\s.*<(timerfd_settime|timer_settime|setitimer)
 * Source: timerfd_settime(2), timer_settime(2), setitimer(2), clock_nanosleep(2); commit 60bda037f1dd of Linux (Gleixner
 * 2019), before which a timer of CPU time was put into a list. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

#define HOUR_S 3600
#define NS_PER_S UINT64_C(1000000000)

#define MOST_BESIDE 4096

enum way { TIMERFD, POSIX, CPU, INTERVAL, OVER };

struct timers {
    enum way way;
    int fd;        /* of the timer that is set again and again */
    timer_t timer;
};

/* Seconds that call number `number` of a batch asks for. */
static time_t ahead_s(uint64_t number)
{
    return HOUR_S + (time_t)(number % HOUR_S);
}

/* The timed part. Returns how many calls the kernel took. */
static __attribute__((noinline)) uint64_t set_all(const struct timers *timers, uint64_t times)
{
    uint64_t set = 0;
    for (uint64_t i = 0; i < times; i++) {
        struct itimerspec when = {.it_value.tv_sec = ahead_s(i)};
        struct itimerval then = {.it_value.tv_sec = ahead_s(i)};
        struct timespec moment = {.tv_nsec = (long)(i % NS_PER_S)};
        switch (timers->way) {
        case TIMERFD:
            set += timerfd_settime(timers->fd, 0, &when, NULL) == 0;
            break;
        case POSIX:
        case CPU:
            set += timer_settime(timers->timer, 0, &when, NULL) == 0;
            break;
        case INTERVAL:
            set += setitimer(ITIMER_VIRTUAL, &then, NULL) == 0;
            break;
        case OVER:
            set += clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) == 0;
            break;
        }
    }
    return set;
}

/* Whether the last of so many calls is the one in force: less than a second has gone by since. */
static bool is_set(const struct timers *timers, uint64_t times)
{
    struct itimerspec left = {0};
    struct itimerval then = {0};
    const double asked_s = (double)ahead_s(times - 1);
    double left_s = asked_s;
    switch (timers->way) {
    case TIMERFD:
    case POSIX:
    case CPU:
        (void)(timers->way == TIMERFD ? timerfd_gettime(timers->fd, &left) : timer_gettime(timers->timer, &left));
        left_s = (double)left.it_value.tv_sec + (double)left.it_value.tv_nsec * 1e-9;
        break;
    case INTERVAL:
        getitimer(ITIMER_VIRTUAL, &then);
        left_s = (double)then.it_value.tv_sec + (double)then.it_value.tv_usec * 1e-6;
        break;
    case OVER:
        break;
    }
    return left_s > asked_s - 0.9 && left_s < asked_s + 0.1; /* the interval timer adds a tick */
}

/* One timer more, set for a moment between those of the others and of what the timed part asks for. */
static void make_one(struct timers *timers, int number)
{
    struct itimerspec when = {.it_value = {HOUR_S + number, 500000000}};
    struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
    bool made = true;
    if (timers->way == TIMERFD) {
        timers->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        made = timers->fd >= 0 && timerfd_settime(timers->fd, 0, &when, NULL) == 0;
    } else if (timers->way == POSIX || timers->way == CPU) {
        made = timer_create(timers->way == CPU ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &nothing, &timers->timer) == 0 &&
               timer_settime(timers->timer, 0, &when, NULL) == 0;
    }
    if (!made)
        probe_skip("only %d timers can be made: %s; see ulimit -n and ulimit -i", number, strerror(errno));
}

static void setup(struct probe_run *run)
{
    struct timers *timers = calloc(1, sizeof *timers);
    static const char *const names[] = {"timerfd", "posix", "cpu", "interval", "over"};
    const int beside = (int)probe_integer(run, "beside");
    if (!timers)
        probe_fail("out of memory");
    while (!probe_is(run, "way", names[timers->way]))
        timers->way++;
    if (beside > 0 && timers->way >= INTERVAL)
        probe_skip("a process has one interval timer, and a sleeper sleeps once: beside=0 is all there is");
    for (int i = 0; i <= beside; i++) /* the last one is the one that is set; the others stay till the program ends */
        make_one(timers, i);
    run->state = timers;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct timers *timers = run->state;
    probe_start(value);
    uint64_t set = set_all(timers, operations);
    probe_stop(value);
    probe_count(value, "checked", is_set(timers, operations) ? set : 0);
}

static void teardown(struct probe_run *run)
{
    struct timers *timers = run->state;
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){0}, NULL);
    free(timers); /* the timers go with the process */
}

static const struct probe timer_probe = {
    .title = "timer that is set",
    .question = "What does a deadline cost that does not come due?",
    .operation = "one call that sets a timer anew, or with way=over one sleep until a moment that is over",
    .source = "timerfd_settime(2), timer_settime(2), setitimer(2); Linux, commit 60bda037f1dd (T. Gleixner, 2019)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){{"set", "s", "lower", "wall", "operations", "time of one call"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "which timer", .choices = "timerfd,posix,cpu,interval,over",
         .sweep = "timerfd,posix,cpu,interval,over"},
        {.name = "beside", .doc = "other timers of the process that are set", .unit = "1", .sweep = "0", .min = 0,
         .max = MOST_BESIDE},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&timer_probe, argc, argv);
}
