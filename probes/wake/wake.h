/* SPDX-License-Identifier: Apache-2.0
 * wake.h - how long a sleeper that is due, or was woken, has to wait until it runs: one way to be woken a file.
 *
 * One operation is one wake-up of a sleeper that slept. What is measured is the time from the moment at which it should
 * run to its first reading of the clock. All times of a run are counted in a histogram, because the question is not what
 * most wake-ups take, but the few that take long. The median is of the value's own wake-ups, the tails and the longest of
 * all wake-ups of the run so far (quantiles.h).
 *
 * Beside the sleeper others may work, so many for each CPU of the run, all under the ordinary policy: `spin` uses the
 * CPU alone, `memory` writes through more memory than caches hold, `messages` are pairs that wake each other. Policy and
 * nice value are the sleeper's. A real-time policy is given back before the run ends.
 *
 * A value has 100 wake-ups at least, however short it was asked to be. */
#ifndef STEELYARD_WAKE_H
#define STEELYARD_WAKE_H

#define _GNU_SOURCE /* SCHED_BATCH, SCHED_IDLE */

#include "contexts.h"
#include "quantiles.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define LEAST_WAKE_UPS 100          /* of a value: fewer have no median that means anything */
#define HOG_BYTES (UINT64_C(64) << 20) /* that one `memory` writes through: more than most caches hold */
#define CLOCK_ROUNDS 1000
#define NS_PER_US 1000
#define NS_PER_S 1000000000u

struct wakes;

/* One way to be woken: what a probe hands to wake_main(). */
struct way {
    const char *title, *question, *operation, *source, *placements; /* as in struct probe */
    const char *late, *histogram; /* what the main metric says; the name of the histogram */
    const struct probe_param *params; /* of this way alone; ends with {0} */
    void (*start)(struct probe_run *run, struct wakes *wakes); /* the sleeper, and whatever wakes it */
    /* Have the sleeper wake until `wakes->histogram` has `wanted` more wake-ups. */
    void (*wake)(struct wakes *wakes, uint64_t wanted);
    void (*stop)(struct probe_run *run, struct wakes *wakes); /* the sleeper's policy, and whoever was started for it */
};
static const struct way *way; /* the one of this program; set by wake_main() */

/* In shared memory: the sleeper may be another process than the caller. */
struct wakes {
    struct histogram own, all; /* of this value; of all values of this length. The sleeper counts in `own`. */
    uint64_t interval_ns, missed; /* from one wake-up to the next; those that came while the sleeper was still awake */
    uint64_t longest_ns, wanted;  /* of all; wake-ups of the last value */
    uint64_t checked;             /* that came neither early nor to one that did not sleep */
    double clock_s;               /* between two readings of the clock in a row */
    int policy, nice;
    struct contexts *loads;
    struct gate gate; /* of the loads */
    int pair[2 * PROBE_MAX_CPUS][2];
    void *sleeper; /* the probe's own */
};

/* --- time ---------------------------------------------------------------------------------------------------- */

static inline struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

/* Sleep until a moment of CLOCK_MONOTONIC; returns at once when it is over. */
static inline void sleep_until(uint64_t ns)
{
    const struct timespec due = timespec_of(ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
        ;
}

/* The first moment of the grid of `interval_ns` that is not over yet: those between are counted as missed. */
static inline uint64_t next_due(struct wakes *wakes, uint64_t last_due_ns, uint64_t now_ns)
{
    uint64_t due_ns = last_due_ns + wakes->interval_ns;
    if (due_ns <= now_ns) {
        uint64_t over = (now_ns - due_ns) / wakes->interval_ns + 1;
        wakes->missed += over;
        due_ns += over * wakes->interval_ns;
    }
    return due_ns;
}

/* The sleeper runs at `now_ns` and should have at `due_ns`; it `slept` before. */
static inline void note_wake_up(struct wakes *wakes, uint64_t due_ns, uint64_t now_ns, bool slept)
{
    if (!slept || now_ns < due_ns)
        return;
    uint64_t late_ns = now_ns - due_ns;
    histogram_add(&wakes->own, late_ns);
    wakes->checked++;
    if (late_ns > wakes->longest_ns)
        wakes->longest_ns = late_ns;
}

static double clock_apart_s(void)
{
    uint64_t begin_ns = probe_now_ns(), end_ns = begin_ns;
    for (int i = 0; i < CLOCK_ROUNDS; i++)
        end_ns = probe_now_ns();
    return (double)(end_ns - begin_ns) * 1e-9 / CLOCK_ROUNDS;
}

/* --- the sleeper's policy -------------------------------------------------------------------------------------- */

static int policy_of(const char *name)
{
    static const struct { const char *name; int policy; } policies[] = {
        {"other", SCHED_OTHER}, {"batch", SCHED_BATCH}, {"idle", SCHED_IDLE}, {"fifo", SCHED_FIFO}, {"rr", SCHED_RR}};
    for (unsigned i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i].name, name) == 0)
            return policies[i].policy;
    probe_fail("the policy %s is not known", name);
}

static inline bool is_real_time(int policy)
{
    return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* Of the calling thread. */
static inline void take_policy(int policy, int nice)
{
    const struct sched_param level = {.sched_priority = is_real_time(policy) ? sched_get_priority_min(policy) : 0};
    if (sched_setscheduler(0, policy, &level) != 0)
        probe_skip("this policy may not be taken (%s): it needs the right CAP_SYS_NICE, or `ulimit -r 1`",
                   strerror(errno));
    if (!is_real_time(policy) && nice != getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)) &&
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice) != 0)
        probe_skip("a nice value of %d may not be taken (%s): below that of the lab it needs the right CAP_SYS_NICE",
                   nice, strerror(errno));
}

/* The launcher fails a run whose probe ends under a real-time policy: then nobody knows what it was measured under. */
static inline void give_policy_back(int policy)
{
    if (is_real_time(policy))
        take_policy(SCHED_OTHER, 0);
}

/* --- what works beside ----------------------------------------------------------------------------------------- */

static void load_spin(const struct wakes *wakes)
{
    while (!wakes->gate.stop)
        ;
}

static void load_memory(const struct wakes *wakes)
{
    volatile unsigned char *memory = malloc(HOG_BYTES);
    if (!memory)
        probe_fail("out of memory");
    for (uint64_t at = 0; !wakes->gate.stop; at = (at + PROBE_CACHE_LINE) % HOG_BYTES)
        memory[at]++;
}

/* The first of a pair ends the other one, which may be waiting for it. */
static void load_messages(const struct wakes *wakes, int index)
{
    const int end = index & 1, fd = wakes->pair[index / 2][end];
    unsigned char byte = 0;
    while (!wakes->gate.stop) {
        if ((end == 0 && write(fd, &byte, 1) != 1) || read(fd, &byte, 1) != 1 || (end == 1 && write(fd, &byte, 1) != 1))
            break;
    }
    shutdown(fd, SHUT_RDWR);
}

static void load(struct probe_run *run, int index, void *shared)
{
    struct wakes *wakes = shared;
    const int of_cpu = probe_is(run, "load", "messages") ? index / 2 : index;
    signal(SIGPIPE, SIG_IGN);
    if (run->placement == PROBE_CROSS)
        probe_place(run, of_cpu % 2); /* beside the sleeper and beside who wakes it */
    gate_pass(&wakes->gate);
    if (probe_is(run, "load", "spin"))
        load_spin(wakes);
    else if (probe_is(run, "load", "memory"))
        load_memory(wakes);
    else
        load_messages(wakes, index);
}

static void start_loads(struct probe_run *run, struct wakes *wakes)
{
    const int cpus = run->placement == PROBE_SAME ? 1 : run->placement == PROBE_CROSS ? 2 : run->cpus;
    const int loads = (int)probe_integer(run, "loads") * cpus;
    const bool messages = probe_is(run, "load", "messages");
    if (probe_is(run, "load", "none"))
        return;
    if (loads > 2 * PROBE_MAX_CPUS)
        probe_skip("%d loads are more than the %d that are possible", loads, 2 * PROBE_MAX_CPUS);
    for (int i = 0; messages && i < loads; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, wakes->pair[i]) != 0)
            probe_skip("only %d of %d socket pairs could be had: %s; see ulimit -n", i, loads, strerror(errno));
    const int count = messages ? 2 * loads : loads;
    wakes->loads = contexts_start(run, true, 0, count, load, wakes);
    gate_open(&wakes->gate, count);
}

/* --- the probe ------------------------------------------------------------------------------------------------- */

static void wake_setup(struct probe_run *run)
{
    struct wakes *wakes = run->state = probe_share(sizeof *wakes);
    wakes->interval_ns = (uint64_t)probe_integer(run, "interval") * NS_PER_US;
    wakes->policy = policy_of(probe_choice(run, "policy"));
    wakes->nice = (int)probe_integer(run, "nice");
    wakes->clock_s = clock_apart_s();
    start_loads(run, wakes); /* first: they shall not inherit the sleeper's policy */
    way->start(run, wakes);
    probe_histogram(way->histogram, "s", 1e-9, &wakes->all);
}

static void wake_batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct wakes *wakes = run->state;
    const uint64_t wanted = operations > LEAST_WAKE_UPS ? operations : LEAST_WAKE_UPS, missed = wakes->missed;
    memset(&wakes->own, 0, sizeof wakes->own);
    wakes->checked = 0;
    if (wanted != wakes->wanted) { /* still the search for the number of operations, or the warm-up */
        memset(&wakes->all, 0, sizeof wakes->all);
        wakes->longest_ns = 0;
    }
    wakes->wanted = wanted;
    probe_start(value);
    way->wake(wakes, wanted);
    probe_stop(value);
    histogram_merge(&wakes->all, &wakes->own);
    value->operations = wakes->own.count;
    probe_count(value, "checked", wakes->checked);
    probe_count(value, "missed", wakes->missed - missed);
    quantile_report(value, "median", "enough_for_median", &wakes->own, 0.5, 1e-9);
    quantile_report(value, "p99", "enough_for_p99", &wakes->all, 0.99, 1e-9);
    quantile_report(value, "p99_9", "enough_for_p99_9", &wakes->all, 0.999, 1e-9);
    quantile_report(value, "p99_99", "enough_for_p99_99", &wakes->all, 0.9999, 1e-9);
    probe_reading(value, "longest", (double)wakes->longest_ns * 1e-9);
    probe_reading(value, "total", (double)wakes->own.total * 1e-9);
    probe_reading(value, "clock", wakes->clock_s);
}

static void wake_teardown(struct probe_run *run)
{
    struct wakes *wakes = run->state;
    way->stop(run, wakes);
    wakes->gate.stop = true;
    if (wakes->loads)
        contexts_join(run, wakes->loads);
    if (!quantile_exists(&wakes->all, 0.9999))
        probe_caveat_of(!quantile_exists(&wakes->all, 0.99)    ? "p99,p99_9,p99_99"
                        : !quantile_exists(&wakes->all, 0.999) ? "p99_9,p99_99"
                                                               : "p99_99",
                        "%" PRIu64 " wake-ups in this run: p99 needs 1000, p99_9 10,000 and p99_99 100,000; a longer "
                        "--target or more --values give them", wakes->all.count);
}

/* A planted lateness is found again, an early wake-up and one that did not sleep do not count, and a moment of the grid
 * that is over is passed by. */
static void wake_selftest(struct probe_run *run)
{
    struct wakes *wakes = probe_share(sizeof *wakes);
    (void)run;
    for (uint64_t late_ns = 1; late_ns <= 1000; late_ns++)
        note_wake_up(wakes, 5000, 5000 + 1000 * late_ns, true);
    note_wake_up(wakes, 5000, 4999, true);
    note_wake_up(wakes, 5000, 9000000, false);
    const double median_ns = histogram_quantile(&wakes->own, 0.5);
    if (wakes->checked != 1000 || wakes->longest_ns != 1000000 || median_ns < 497000 || median_ns > 503000)
        probe_fail("a planted lateness of 500 us is seen as %.0f ns, the longest as %" PRIu64 " ns", median_ns,
                   wakes->longest_ns);
    wakes->interval_ns = 100;
    if (next_due(wakes, 1000, 1050) != 1100 || wakes->missed != 0 || next_due(wakes, 1000, 1300) != 1400 ||
        wakes->missed != 3)
        probe_fail("wake-ups that were missed are not counted");
}

static int wake_main(const struct way *this_way, int argc, char **argv)
{
    way = this_way;
    struct probe_param params[PROBE_MAX_PARAMS + 1] = {
        {.name = "load", .doc = "what works beside the sleeper", .choices = "none,spin,memory,messages",
         .sweep = "none,spin,memory,messages", .brief = "none,spin"},
        {.name = "loads", .doc = "how many of these work for each CPU", .unit = "1", .sweep = "1", .min = 1, .max = 256},
        {.name = "interval", .doc = "from one wake-up to the next", .unit = "us", .sweep = "1000", .min = 10,
         .max = 1000000},
        {.name = "policy", .doc = "policy of the sleeper", .choices = "other,batch,idle,fifo,rr", .sweep = "other"},
        {.name = "nice", .doc = "nice value of the sleeper", .unit = "1", .sweep = "0", .min = -20, .max = 19}};
    int last = 0;
    while (params[last].name)
        last++;
    for (const struct probe_param *own = way->params; own->name; own++)
        params[last++] = *own;
    const struct probe probe = {
        .title = way->title,
        .question = way->question,
        .operation = way->operation,
        .source = way->source,
        .statistic = "median",
        .placements = way->placements,
        .uses = "cpu,sched",
        .family = "wake",
        .metrics = (const struct probe_metric[]){
            {"median", "s", "lower", "median", "enough_for_median", way->late},
            {"mean", "s", "lower", "total", "operations", "mean of the value's wake-ups"},
            {"p99", "s", "lower", "p99", "enough_for_p99",
             "99 % of the wake-ups of the run so far take at most this; from 1000 of them on"},
            {"p99_9", "s", "lower", "p99_9", "enough_for_p99_9", "99.9 % of them; from 10,000 on"},
            {"p99_99", "s", "lower", "p99_99", "enough_for_p99_99", "99.99 % of them; from 100,000 on"},
            {"longest", "s", "lower", "longest", "one", "the longest of the run so far"},
            {"missed_per_operation", "1", "neither", "missed", "operations",
             "wake-ups that were due while the sleeper was still awake; they are left out"},
            {"clock", "s", "neither", "clock", "one", "what two readings of the clock in a row are apart"},
            {0}},
        .params = params,
        .setup = wake_setup,
        .batch = wake_batch,
        .teardown = wake_teardown,
        .selftest = wake_selftest,
    };
    return probe_main(&probe, argc, argv);
}

#endif
