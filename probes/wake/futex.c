/* SPDX-License-Identifier: Apache-2.0
 * futex - a sleeper waits for a futex; another one notes the time, wakes it, and sleeps itself.
 *
 * What the one who wakes waits for is `by`:
 *   timer    once an `interval` it wakes the sleeper, which has slept since the last time; where the sleeper did not come
 *            to run in between, it is not woken again, and that is counted as missed. Both have slept for an interval,
 *            and their CPU with them.
 *   request  the sleeper sleeps for an `interval`, then asks to be woken and waits: it has slept for moments alone, and
 *            what it touches is still in the cache. This is what schbench measures. An answer that came before it slept
 *            is counted as missed.
 * With `same` both share a CPU: the sleeper runs when the one who woke it is switched away from, which asks for nothing
 * else then but a timer or the next request.
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
    _Alignas(PROBE_CACHE_LINE) uint32_t asked; /* by the sleeper: how often it has asked */
    struct gate gate;
    bool on_request;
    int scope;
    struct contexts *sleeper;
};

static void ask(struct wakes *wakes, struct bell *bell)
{
    sleep_until(probe_now_ns() + wakes->interval_ns);
    __atomic_store_n(&bell->asked, bell->asked + 1, __ATOMIC_RELEASE);
    futex_wake(&bell->asked, 1, bell->scope);
}

static void sleeper(struct probe_run *run, int index, void *shared)
{
    struct wakes *wakes = shared;
    struct bell *bell = wakes->sleeper;
    (void)run, (void)index;
    take_policy(wakes->policy, wakes->nice);
    gate_pass(&bell->gate);
    for (uint32_t heard = 0;;) {
        if (bell->on_request)
            ask(wakes, bell);
        uint64_t sleeps = thread_switches().voluntary;
        while (__atomic_load_n(&bell->rung, __ATOMIC_ACQUIRE) == heard)
            futex_wait(&bell->rung, heard, bell->scope);
        uint64_t now_ns = probe_now_ns();
        if (bell->stop)
            return;
        const bool slept = thread_switches().voluntary > sleeps;
        note_wake_up(wakes, bell->rung_ns, now_ns, slept);
        if (bell->on_request && !slept) /* answered before it slept; on a timer, the caller counts what is missed */
            wakes->missed++;
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

/* A request that comes when enough has been counted is kept for the next value. */
static void answer(struct wakes *wakes, struct bell *bell, uint64_t wanted)
{
    for (;;) {
        while (__atomic_load_n(&bell->asked, __ATOMIC_ACQUIRE) == bell->rung)
            futex_wait(&bell->asked, bell->rung, bell->scope);
        if (wakes->own.count >= wanted)
            return;
        bell->rung_ns = probe_now_ns();
        ring(bell);
    }
}

static __attribute__((noinline)) void wake_times(struct wakes *wakes, uint64_t wanted)
{
    struct bell *bell = wakes->sleeper;
    if (bell->on_request) {
        answer(wakes, bell, wanted);
        return;
    }
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
    bell->on_request = probe_is(run, "by", "request");
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
        .params = (const struct probe_param[]){
            CONTEXTS_KIND_PARAM("thread"),
            {.name = "by", .doc = "what has the other one wake the sleeper: a timer of its own, or the sleeper's request",
             .choices = "timer,request", .sweep = "timer"},
            {0}},
        .start = futex_start, .wake = wake_times, .stop = futex_stop,
    }, argc, argv);
}
