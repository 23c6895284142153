/* SPDX-License-Identifier: Apache-2.0
 * wake - one context wakes another that sleeps, and goes on itself: no switch.
 *
 * The sleepers share the CPU of the one who wakes them and have the policy SCHED_BATCH, so that none of them preempts it.
 * It wakes SLEEPERS of them, one by one, and reads the clock before the first and after the last. Then it gives the CPU
 * away, untimed, until all sleep again.
 *
 * Known answer: FUTEX_WAKE says how many it woke, each time one. A round in which a sleeper was not yet asleep, or in
 * which the kernel switched away from the waker, counts neither as work nor as time.
 * Overhead: two clock reads a round, a few ns a wake; storing the word that the sleeper looks at.
 * Limits: the system call is in the figure. The CPU is awake: to wake another one that idles costs more. Between two
 * rounds all go to sleep again, untimed, which takes some ten times as long as a round; values are short for that.
 * Assembly: wake_all contains (call|bl).*<syscall
 * Source: perf bench futex wake (Linux, tools/perf/bench/futex-wake.c), which wakes many by one call. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "contexts.h"

#define SLEEPERS 16
#define MOST_LOST 2000 /* rounds; under load many are */

struct bed {
    _Alignas(PROBE_CACHE_LINE) uint32_t word; /* 0 asleep or about to be, 1 woken, 2 to end */
    uint64_t woken;                           /* written by the sleeper alone */
};

struct dormitory {
    struct bed bed[SLEEPERS];
    struct contexts *sleepers;
    struct gate gate;
};

static void sleeper(struct probe_run *run, int index, void *shared)
{
    struct dormitory *dormitory = shared;
    struct bed *bed = &dormitory->bed[index - 1];
    const struct sched_param none = {0};
    (void)run;
    if (sched_setscheduler(0, SCHED_BATCH, &none) != 0)
        probe_skip("the policy SCHED_BATCH is not to be had: a woken thread would preempt the one that woke it");
    gate_pass(&dormitory->gate);
    for (;;) {
        uint32_t word = __atomic_load_n(&bed->word, __ATOMIC_ACQUIRE);
        if (word == 2)
            return;
        if (word == 1) {
            bed->woken++;
            __atomic_store_n(&bed->word, 0, __ATOMIC_RELEASE);
        }
        futex_wait(&bed->word, 0, FUTEX_PRIVATE_FLAG);
    }
}

/* The timed part: how many were asleep and woken. */
static __attribute__((noinline)) uint64_t wake_all(struct dormitory *dormitory)
{
    uint64_t woken = 0;
    for (int i = 0; i < SLEEPERS; i++) {
        __atomic_store_n(&dormitory->bed[i].word, 1, __ATOMIC_RELEASE);
        woken += (uint64_t)syscall(SYS_futex, &dormitory->bed[i].word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
    }
    return woken;
}

static bool all_went_to_bed(const struct dormitory *dormitory)
{
    for (int i = 0; i < SLEEPERS; i++)
        if (__atomic_load_n(&dormitory->bed[i].word, __ATOMIC_ACQUIRE) != 0)
            return false;
    return true;
}

/* By sleeping and not by yielding: a yield uses up the time slice, and the kernel would take the CPU away in the next
 * round. From the word to the sleep it is one system call, for which a last nap is long enough. */
static void let_them_sleep(const struct dormitory *dormitory)
{
    static const struct timespec nap = {.tv_nsec = 20000};
    do
        nanosleep(&nap, NULL);
    while (!all_went_to_bed(dormitory));
    nanosleep(&nap, NULL);
}

static void setup(struct probe_run *run)
{
    struct dormitory *dormitory = run->state = probe_share(sizeof *dormitory);
    prctl(PR_SET_TIMERSLACK, 1);
    dormitory->sleepers = contexts_start(run, false, 1, SLEEPERS, sleeper, dormitory);
    gate_open(&dormitory->gate, SLEEPERS);
    let_them_sleep(dormitory);
}

static uint64_t woken_by_their_own_count(const struct dormitory *dormitory)
{
    uint64_t woken = 0;
    for (int i = 0; i < SLEEPERS; i++)
        woken += dormitory->bed[i].woken;
    return woken;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct dormitory *dormitory = run->state;
    uint64_t done = 0, wall_ns = 0, lost = 0, before = woken_by_their_own_count(dormitory), all = 0;
    probe_start(value);
    while (done < operations) {
        struct switches here = thread_switches();
        uint64_t begin_ns = probe_now_ns(), woken = wake_all(dormitory), took_ns = probe_now_ns() - begin_ns;
        struct switches then = thread_switches();
        let_them_sleep(dormitory);
        all += SLEEPERS;
        if (woken == SLEEPERS && here.voluntary + here.involuntary == then.voluntary + then.involuntary)
            done += SLEEPERS, wall_ns += took_ns;
        else if (++lost == MOST_LOST && done == 0)
            probe_skip("the kernel lets woken threads preempt: in none of %d rounds did the waker keep the CPU", MOST_LOST);
    }
    probe_stop_parts(value, done, wall_ns);
    /* Each of them has seen each of its words, those of lost rounds as well. */
    bool seen = woken_by_their_own_count(dormitory) - before == all;
    probe_count(value, "checked", seen ? done : 0);
    probe_count(value, "rounds", all / SLEEPERS);
    probe_count(value, "undisturbed", all / SLEEPERS - lost);
}

static void teardown(struct probe_run *run)
{
    struct dormitory *dormitory = run->state;
    for (int i = 0; i < SLEEPERS; i++) {
        __atomic_store_n(&dormitory->bed[i].word, 2, __ATOMIC_RELEASE);
        futex_wake(&dormitory->bed[i].word, 1, FUTEX_PRIVATE_FLAG);
    }
    contexts_join(run, dormitory->sleepers);
}

static const struct probe wake_probe = {
    .title = "wake-up without a switch",
    .question = "What does it cost to wake a sleeping thread and to go on?",
    .operation = "one futex wake of a thread that sleeps on the same CPU, the system call included, without a switch",
    .source = "perf bench futex wake (Linux, tools/perf/bench/futex-wake.c)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu,sched",
    .baseline = "call/syscall",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){
        {"wake", "s", "lower", "wall", "operations", "time of the call that wakes"},
        {"undisturbed_fraction", "1", "neither", "undisturbed", "rounds",
         "share of the rounds in which the waker kept the CPU; only these count"},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&wake_probe, argc, argv);
}
