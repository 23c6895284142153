/* SPDX-License-Identifier: Apache-2.0
 * branch_hint - a branch that is rarely taken, with a hint that says so, one that says the contrary, and without.
 *
 * The tuning advice: likely() and unlikely(), made of __builtin_expect, raise the accuracy of prediction. What they
 * really do is to put the likely code into line; prediction is the processor's, from what it has seen.
 *
 * Known answer: the sum of each pass, reckoned once more outside the timed part.
 * Overhead: a call through a pointer for each pass over 16384 events.
 * Limits: one event in 64 is rare, at random, but of 16384 of them some processors remember each; both branches are short
 * and stay in the caches.
 * Variants: compiler=gcc,clang level=2,0,3
 * Assembly: absent__* contains \bj[a-z]+\b|\bb\.[a-z]+\b|\btbn?z\b
 * Assembly: right__* contains \bj[a-z]+\b|\bb\.[a-z]+\b|\btbn?z\b
 * Assembly: wrong__* contains \bj[a-z]+\b|\bb\.[a-z]+\b|\btbn?z\b
 * Source: the tuning article on caches of wzxue.com (2012); GCC manual, __builtin_expect. */
#include "events.h"

#ifdef VARIANT

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define LIKELY(condition) __builtin_expect(!!(condition), 1)

#define WAY(name, HINT)                                                                                                \
    TIMED(uint32_t, name, (const uint32_t *events, uint64_t count))                                                    \
    {                                                                                                                  \
        uint32_t sum = 0;                                                                                              \
        HANDLE(HINT, events, count, sum)                                                                               \
        return sum;                                                                                                    \
    }

WAY(absent, NO_HINT)
WAY(right, UNLIKELY)
WAY(wrong, LIKELY)

#else

static void setup(struct probe_run *run)
{
    static struct events events;
    events.handle = (handle_events *)timed_find(run, probe_choice(run, "hint"));
    events_make(&events, true);
    run->state = &events;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    events_batch(run->state, operations, value);
}

static const struct probe branch_hint_probe = {
    .title = "branch with a hint",
    .question = "What does a hint about a branch that is rarely taken gain?",
    .operation = "one event handled, by a short branch each kind",
    .source = "the tuning article on caches of wzxue.com (2012); GCC manual, __builtin_expect",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){{"event", "s", "lower", "wall", "operations", "time of one event"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "hint", .doc = "about the branch", .choices = "absent,right,wrong", .sweep = "absent,right,wrong",
         .brief = "absent,right"},
        TIMED_PARAMS,
        {0}},
    .setup = setup,
    .batch = batch,
    .selftest = timed_selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&branch_hint_probe, argc, argv);
}

#endif
