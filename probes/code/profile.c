/* SPDX-License-Identifier: Apache-2.0
 * profile - a loop with a rare branch, compiled as usual, and compiled again by the profile of a run.
 *
 * The tuning advice: compile twice, so that the second time the compiler knows from a run which way branches go. The
 * build does so: see `Training`.
 *
 * data=alike: events like those of the run that made the profile, one in 64 of them rare. opposite: the kind that was
 * rare is now the frequent one.
 *
 * Known answer: the sum of each pass, reckoned once more outside the timed part.
 * Overhead: a call through a pointer for each pass over 16384 events.
 * Limits: one loop. What profiles gain in large programs is mostly that what runs together lies together.
 * Variants: compiler=gcc,clang level=2,3 profile=off,on
 * Training: data=alike --operations 1000000
 * Assembly: handle__* contains \bj[a-z]+\b|\bb\.[a-z]+\b|\btbn?z\b
 * Source: the tuning article on caches of wzxue.com (2012); Pettis and Hansen, Profile Guided Code Positioning, PLDI
 * 1990. */
#include "events.h"

#ifdef VARIANT

TIMED(uint32_t, handle, (const uint32_t *events, uint64_t count))
{
    uint32_t sum = 0;
    HANDLE(NO_HINT, events, count, sum)
    return sum;
}

#else

static void setup(struct probe_run *run)
{
    static struct events events;
    events.handle = (handle_events *)timed_find(run, "handle");
    events_make(&events, probe_is(run, "data", "alike"));
    run->state = &events;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    events_batch(run->state, operations, value);
}

static const struct probe profile_probe = {
    .title = "loop compiled by a profile",
    .question = "What does it gain to compile a second time, by the profile of a run?",
    .operation = "one event handled, by a short branch each kind",
    .source = "the tuning article on caches of wzxue.com (2012); Pettis and Hansen, Profile Guided Code Positioning, "
              "PLDI 1990",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){{"event", "s", "lower", "wall", "operations", "time of one event"}, {0}},
    .params = (const struct probe_param[]){
        TIMED_PROFILE,
        {.name = "data", .doc = "against that of the profile", .choices = "alike,opposite",
         .sweep = "alike,opposite", .brief = "alike"},
        TIMED_PARAMS,
        {0}},
    .setup = setup,
    .batch = batch,
    .selftest = timed_selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&profile_probe, argc, argv);
}

#endif
