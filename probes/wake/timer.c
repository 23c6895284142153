/* SPDX-License-Identifier: Apache-2.0
 * timer - a sleeper sets a timer for a moment, and looks at the clock when it runs again.
 *
 * The moments lie on a grid, one every `interval`. One that is over when the sleeper is ready for it is left out and
 * counted as missed, as cyclictest does: among neighbours that keep the CPU for longer than the interval the figures are
 * those of the wake-ups that were tried, and `missed_per_operation` belongs to them.
 *
 * Known answer: no timer is early; a planted lateness is found again.
 * Overhead: one reading of the clock (`clock`), which is in each figure.
 * Limits: under the ordinary policies the kernel may put a timer off by `slack` to fire it with others; it is the
 * kernel's default of 50 us unless one says otherwise, and nothing under a real-time policy. What the CPU does to sleep
 * deeply is in the figure, and no request keeps it from that.
 * Assembly: wake_times contains (call|bl).*<(clock_nanosleep|__clock_nanosleep)
 * Source: cyclictest of rt-tests (Gleixner 2005); PR_SET_TIMERSLACK of prctl(2). */
#include "wake.h"

static void timer_start(struct probe_run *run, struct wakes *wakes)
{
    if (prctl(PR_SET_TIMERSLACK, (unsigned long)probe_integer(run, "slack"), 0, 0, 0) != 0)
        probe_fail("the timer slack cannot be set: %s", strerror(errno));
    take_policy(wakes->policy, wakes->nice);
}

static void timer_stop(struct probe_run *run, struct wakes *wakes)
{
    (void)run;
    give_policy_back(wakes->policy);
}

static __attribute__((noinline)) void wake_times(struct wakes *wakes, uint64_t wanted)
{
    uint64_t due_ns = probe_now_ns() + wakes->interval_ns;
    while (wakes->own.count < wanted) {
        sleep_until(due_ns);
        uint64_t now_ns = probe_now_ns();
        note_wake_up(wakes, due_ns, now_ns, true);
        due_ns = next_due(wakes, due_ns, now_ns);
    }
}

int main(int argc, char **argv)
{
    return wake_main(&(const struct way){
        .title = "timer",
        .question = "How late does a sleeper run after its timer?",
        .operation = "one wake-up by a timer, from the moment for which it was set",
        .source = "cyclictest (rt-tests)",
        .placements = "same,free",
        .late = "half of the value's wake-ups are at most so late", .histogram = "late",
        .params = (const struct probe_param[]){
            {.name = "slack", .doc = "how long the kernel may put the timer off", .unit = "ns", .sweep = "50000", .min = 1,
             .max = 1000000000},
            {0}},
        .start = timer_start, .wake = wake_times, .stop = timer_stop,
    }, argc, argv);
}
