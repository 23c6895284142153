/* SPDX-License-Identifier: Apache-2.0
 * migration - a thread reads its working set again and again, on one CPU, moved to another one each millisecond, or
 * where the scheduler likes.
 *
 * What a migration costs is the move and then the first pass over a cache that has nothing of it. Both are also timed
 * by themselves: `move` until the thread runs on the other CPU, `first_pass` the pass after it, against `pass`.
 *
 * Known answer: the sum of what was read; each move is seen on the CPU where the thread then is.
 * Overhead: two readings of the clock a pass, about 50 ns.
 * Limits: only passes shorter than a millisecond show one migration by itself. Placement cross pins the thread to one
 * of two CPUs (moves=none) or moves it between them; with free it is moved by nobody or by the scheduler.
 * Assembly: read_pass contains paddq\s+-?0x10\(|\bldp|\bldr
 * Source: Li, Ding & Shen, Quantifying the Cost of Context Switch (ExpCS 2007), for the working set; Drepper, What
 * Every Programmer Should Know About Memory (2007), section 6.4.3, for affinity. */
#define _GNU_SOURCE
#include "contexts.h"
#include "passes.h"

#include <errno.h>
#include <sched.h>

#define MOVE_EVERY_NS 1000000

struct traveller {
    words *memory;
    uint64_t size, next_move_ns;
    int party; /* where it is, as probe_cpu counts */
    bool moves;
};

/* What the passes of a batch were. */
struct journey {
    uint64_t sum, migrations, asked, move_ns, first_pass_ns, other_ns, others;
};

static void setup(struct probe_run *run)
{
    static struct traveller traveller;
    traveller.size = (uint64_t)probe_integer(run, "size") / PROBE_CACHE_LINE * PROBE_CACHE_LINE;
    traveller.moves = probe_is(run, "moves", "each_ms");
    if (traveller.moves && run->placement == PROBE_FREE)
        probe_skip("who is not pinned is not moved either: moves=each_ms is for placement cross");
    traveller.memory = memory_for_caches(traveller.size);
    write_pass(traveller.memory, traveller.size, 1);
    run->state = &traveller;
}

/* True if the thread is now on another CPU than before. */
static bool move_if_it_is_time(const struct probe_run *run, struct traveller *traveller, uint64_t now_ns,
                               struct journey *journey)
{
    if (!traveller->moves || now_ns < traveller->next_move_ns)
        return false;
    traveller->party ^= 1;
    probe_place(run, traveller->party);
    if (thread_cpu() != probe_cpu(run, traveller->party))
        probe_fail("the thread did not move to CPU %d", probe_cpu(run, traveller->party));
    uint64_t after_ns = probe_now_ns();
    journey->asked++;
    journey->move_ns += after_ns - now_ns;
    traveller->next_move_ns = after_ns + MOVE_EVERY_NS;
    return true;
}

static struct journey travel(const struct probe_run *run, struct traveller *traveller, uint64_t passes)
{
    struct journey journey = {0};
    int cpu = thread_cpu();
    for (uint64_t i = 0; i < passes; i++) {
        uint64_t begin_ns = probe_now_ns();
        if (move_if_it_is_time(run, traveller, begin_ns, &journey))
            begin_ns = probe_now_ns();
        journey.sum += read_pass(traveller->memory, traveller->size);
        uint64_t took_ns = probe_now_ns() - begin_ns;
        if (thread_cpu() != cpu) {
            cpu = thread_cpu();
            journey.migrations++;
            journey.first_pass_ns += took_ns;
        } else {
            journey.others++;
            journey.other_ns += took_ns;
        }
    }
    return journey;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct traveller *traveller = run->state;
    probe_start(value);
    struct journey journey = travel(run, traveller, operations);
    probe_stop(value);
    uint64_t expected = operations * (traveller->size / sizeof(uint64_t));
    probe_count(value, "checked", journey.sum == expected ? operations : 0);
    probe_count(value, "migrations", journey.migrations);
    probe_count(value, "asked", journey.asked);
    probe_count(value, "others", journey.others);
    probe_reading(value, "move_s", (double)journey.move_ns * 1e-9);
    probe_reading(value, "first_s", (double)journey.first_pass_ns * 1e-9);
    probe_reading(value, "other_s", (double)journey.other_ns * 1e-9);
}

static const struct probe migration_probe = {
    .title = "thread moved to another CPU",
    .question = "What does it cost a thread with a warm cache to be moved to another CPU?",
    .operation = "one pass over the working set, and whatever moves fall into it",
    .source = "Li, Ding & Shen, Quantifying the Cost of Context Switch (ExpCS 2007); Drepper, What Every Programmer "
              "Should Know About Memory (2007), section 6.4.3",
    .statistic = "median",
    .placements = "cross,free",
    .uses = "cpu,sched",
    .value_ms = 4,
    .metrics = (const struct probe_metric[]){
        {"pass", "s", "lower", "wall", "operations", "time of a pass, with the moves"},
        {"first_pass", "s", "lower", "first_s", "migrations", "time of a pass right after a move, without the move"},
        {"warm_pass", "s", "lower", "other_s", "others", "time of a pass that no move came before"},
        {"move", "s", "lower", "move_s", "asked", "time until the thread runs on the other CPU, where it asked to"},
        {"migrated_fraction", "1", "neither", "migrations", "operations", "moves for each pass"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "moves", .doc = "whether the thread asks for the other CPU each millisecond",
         .choices = "none,each_ms", .sweep = "none,each_ms"},
        {.name = "size", .doc = "bytes of the working set", .unit = "B", .sweep = "16384,262144,1048576",
         .brief = "262144", .min = 1024, .max = INT64_C(1) << 30},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&migration_probe, argc, argv);
}
