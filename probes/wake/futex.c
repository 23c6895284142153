/* SPDX-License-Identifier: Apache-2.0
 * futex - a sleeper waits for a futex; another one notes the time, wakes it, and sleeps itself.
 *
 * The one who wakes does so once an `interval`, when the sleeper has slept since the last time; where the sleeper did not
 * come to run in between, it is not woken again, and that is counted as missed. With `same` both share a CPU: the sleeper
 * runs when the one who woke it is switched away from, which asks for nothing else then.
 *
 * Known answer: nobody runs before it is woken; a planted lateness is found again. That the sleeper slept is read from the
 * kernel's count of its voluntary switches.
 * Overhead: one reading of the clock (`clock`) and the system call that wakes, which are in each figure.
 * Limits: of the one who wakes neither policy nor nice value can be chosen.
 * Assembly: wake_times contains (call|bl).*<syscall
 * Source: schbench (Mason 2016), whose message threads wake workers in this way; Franke, Russell & Kirkwood, Fuss,
 * Futexes and Furwocks (OLS 2002). */
#include "wake.h"

struct bell {
    _Alignas(PROBE_CACHE_LINE) uint32_t rung; /* by the caller: how often so far, and when last */
    uint64_t rung_ns;
    bool stop;
    _Alignas(PROBE_CACHE_LINE) uint32_t heard; /* by the sleeper: which of them it has dealt with */
    struct gate gate;
    int scope;
    struct contexts *sleeper;
};

static void sleeper(struct probe_run *run, int index, void *shared)
{
    struct wakes *wakes = shared;
    struct bell *bell = wakes->sleeper;
    (void)run, (void)index;
    take_policy(wakes->policy, wakes->nice);
    gate_pass(&bell->gate);
    for (uint32_t heard = 0;;) {
        uint64_t sleeps = thread_switches().voluntary;
        while (__atomic_load_n(&bell->rung, __ATOMIC_ACQUIRE) == heard)
            futex_wait(&bell->rung, heard, bell->scope);
        uint64_t now_ns = probe_now_ns();
        if (bell->stop)
            return;
        note_wake_up(wakes, bell->rung_ns, now_ns, thread_switches().voluntary > sleeps);
        heard++;
        __atomic_store_n(&bell->heard, heard, __ATOMIC_RELEASE); /* pairs with the load in has_heard */
    }
}

static void ring(struct bell *bell)
{
    __atomic_store_n(&bell->rung, bell->rung + 1, __ATOMIC_RELEASE);
    futex_wake(&bell->rung, 1, bell->scope);
}

static bool has_heard(const struct bell *bell)
{
    return __atomic_load_n(&bell->heard, __ATOMIC_ACQUIRE) == bell->rung;
}

static __attribute__((noinline)) void wake_times(struct wakes *wakes, uint64_t wanted)
{
    struct bell *bell = wakes->sleeper;
    uint64_t due_ns = probe_now_ns() + wakes->interval_ns;
    for (;;) {
        sleep_until(due_ns);
        if (!has_heard(bell)) {
            due_ns += wakes->interval_ns;
            wakes->missed++;
            continue;
        }
        if (wakes->own.count >= wanted)
            return;
        bell->rung_ns = probe_now_ns();
        ring(bell);
        due_ns = next_due(wakes, due_ns, bell->rung_ns);
    }
}

static void futex_start(struct probe_run *run, struct wakes *wakes)
{
    const bool processes = probe_is(run, "kind", "process");
    struct bell *bell = wakes->sleeper = probe_share(sizeof *bell);
    bell->scope = futex_scope(processes);
    if (is_real_time(wakes->policy) || wakes->nice < 0) { /* here the run ends by the reason why it may not be */
        take_policy(wakes->policy, wakes->nice);
        take_policy(SCHED_OTHER, 0);
    }
    bell->sleeper = contexts_start(run, processes, 1, 1, sleeper, wakes);
    gate_open(&bell->gate, 1);
}

static void futex_stop(struct probe_run *run, struct wakes *wakes)
{
    struct bell *bell = wakes->sleeper;
    bell->stop = true;
    ring(bell);
    contexts_join(run, bell->sleeper);
}

int main(int argc, char **argv)
{
    return wake_main(&(const struct way){
        .title = "another one, by a futex",
        .question = "How long does a sleeper take to run that another one wakes?",
        .operation = "one wake-up of a sleeper by another context, from just before the system call that wakes it",
        .source = "schbench (Mason 2016)",
        .placements = "same,cross,free",
        .late = "half of the value's wake-ups take at most this", .histogram = "wake_up",
        .params = (const struct probe_param[]){CONTEXTS_KIND_PARAM("thread"), {0}},
        .start = futex_start, .wake = wake_times, .stop = futex_stop,
    }, argc, argv);
}
