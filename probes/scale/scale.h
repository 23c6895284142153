/* SPDX-License-Identifier: Apache-2.0
 * scale.h - 1 to N contexts that do the same operation, each on something of its own, on a CPU of its own.
 *
 * By their design they share nothing. What one does to another it does inside the kernel or a library: by a lock, by a
 * counter, by a cache line. Without that, N of them do N times the work of one in the same time. Threads share an
 * address space, a table of descriptors and the signal handlers; processes do not.
 *
 * The contexts run from setup to teardown, and a batch is two readings of what each has counted (contexts.h): nobody
 * waits for the slowest. Each looks at the result of each operation before it counts it. will-it-scale does the same,
 * with a second between two readings, and looks at fewer results.
 *
 * More contexts than CPUs share them in turn; the figures of those say nothing of the kernel's locks. */
#ifndef STEELYARD_SCALE_H
#define STEELYARD_SCALE_H

#include "contexts.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "topology.h"

/* What one context works on. The probe says what is in it. */
struct work;

/* One operation: what a probe hands to scale_main(). */
struct way {
    const char *title, *question, *operation, *source; /* as in struct probe */
    const struct probe_param *params;                  /* optional: those of this way alone; ends with {0} */
    uint64_t work_bytes;                               /* of a struct work */
    void (*begin)(struct probe_run *run, int contexts); /* optional: called once, before any context is made */
    /* optional: called for each context by the one that starts them all, before any runs. The work is shared memory. */
    void (*make)(struct probe_run *run, struct work *work, int index);
    /* the timed part: do operations, and count in `mine` those that are proven, until `over`. Returns before that if one
     * went wrong. */
    void (*go_on)(struct work *work, struct tally *mine, const volatile bool *over);
    void (*unmake)(struct work *work); /* optional: called for each context after all have ended */
};
static const struct way *way; /* the one of this program; set by scale_main() */

/* Defines go_on() from STEP(work), one operation, which returns whether it is proven. */
#define SCALE_LOOP(STEP) \
    static __attribute__((noinline)) void go_on(struct work *work, struct tally *mine, const volatile bool *over) \
    { \
        while (!*over && STEP(work)) \
            mine->operations++; \
    }

struct scale {
    int contexts, cpus;
    bool pinned;
    volatile bool over;
    struct gate gate;
    struct tally *tally;
    uint64_t *before; /* operations of each context when the batch began */
    unsigned char *works;
    struct contexts *workers;
    struct cpu_place places[PROBE_MAX_CPUS];
};

static struct work *work_number(const struct scale *scale, int index)
{
    return (struct work *)(scale->works + (uint64_t)index * way->work_bytes);
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        probe_fail("cannot move a context to CPU %d: %s", cpu, strerror(errno));
}

static void worker(struct probe_run *run, int index, void *shared)
{
    struct scale *scale = shared;
    (void)run;
    if (scale->pinned)
        pin(scale->places[index % scale->cpus].cpu);
    gate_pass(&scale->gate);
    way->go_on(work_number(scale, index), &scale->tally[index], &scale->over);
    if (!scale->over)
        scale->tally[index].failures = 1;
}

static bool failed(const struct scale *scale)
{
    for (int i = 0; i < scale->contexts; i++)
        if (scale->tally[i].failures)
            return true;
    return false;
}

/* A failure is the end of the batch: who failed counts no more, and the batch might wait for ever. */
static uint64_t operations_done(const void *shared)
{
    const struct scale *scale = shared;
    return failed(scale) ? UINT64_MAX : tally_operations(scale->tally, scale->contexts);
}

static void scale_setup(struct probe_run *run)
{
    struct scale *scale = run->state = probe_share(sizeof *scale);
    scale->contexts = (int)probe_integer(run, "contexts");
    scale->cpus = run->cpus;
    scale->pinned = !probe_is(run, "pinned", "no");
    for (int i = 0; i < run->cpus; i++)
        scale->places[i] = place_of(run->cpu[i]);
    order_places(scale->places, run->cpus, probe_choice(run, "pinned"));
    scale->tally = probe_share((uint64_t)scale->contexts * sizeof *scale->tally);
    scale->before = probe_share((uint64_t)scale->contexts * sizeof *scale->before);
    scale->works = probe_share((uint64_t)scale->contexts * way->work_bytes);
    if (way->begin)
        way->begin(run, scale->contexts);
    for (int i = 0; way->make && i < scale->contexts; i++)
        way->make(run, work_number(scale, i), i);
    scale->workers = contexts_start(run, probe_is(run, "kind", "process"), 0, scale->contexts, worker, scale);
    timekeeper_become();
    gate_open(&scale->gate, scale->contexts);
}

static void scale_batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct scale *scale = run->state;
    probe_start(value);
    uint64_t begin_ns = probe_now_ns(), begin = 0, end = 0, least = UINT64_MAX;
    for (int i = 0; i < scale->contexts; i++)
        begin += scale->before[i] = scale->tally[i].operations;
    timekeeper_sleep(operations_done, scale, begin + operations);
    uint64_t wall_ns = probe_now_ns() - begin_ns;
    for (int i = 0; i < scale->contexts; i++) {
        uint64_t now = scale->tally[i].operations, own = now - scale->before[i];
        end += now;
        least = own < least ? own : least;
    }
    probe_stop(value);
    value->wall_ns = wall_ns; /* the bounds of the counts; probe_start and probe_stop also read the CPU clocks */
    value->operations = end - begin;
    int lanes = scale->contexts < scale->cpus ? scale->contexts : scale->cpus;
    value->lanes = (uint32_t)lanes;
    probe_count(value, "checked", failed(scale) ? 0 : value->operations);
    probe_reading(value, "elapsed", (double)wall_ns * 1e-9);
    probe_reading(value, "least", (double)least * scale->contexts / (double)value->operations);
    if (!scale->pinned)
        return;
    probe_count(value, "cores", different_among(scale->places, lanes, offsetof(struct cpu_place, core)));
    probe_count(value, "clusters", different_among(scale->places, lanes, offsetof(struct cpu_place, cluster)));
    probe_count(value, "sockets", different_among(scale->places, lanes, offsetof(struct cpu_place, socket)));
}

static void scale_teardown(struct probe_run *run)
{
    struct scale *scale = run->state;
    scale->over = true;
    contexts_join(run, scale->workers);
    for (int i = 0; way->unmake && i < scale->contexts; i++)
        way->unmake(work_number(scale, i));
}

static void scale_selftest(struct probe_run *run)
{
    (void)run;
    order_selftest();
}

static int scale_main(const struct way *this_way, int argc, char **argv)
{
    way = this_way;
    struct probe_param params[PROBE_MAX_PARAMS + 1] = {
        {.name = "contexts", .doc = "contexts that do it at the same time", .unit = "1", .sweep = "1,2,4", .brief = "1,2",
         .min = 1, .max = PROBE_MAX_CPUS},
        CONTEXTS_KIND_PARAM("thread,process"),
        {.name = "pinned", .doc = "how contexts take CPUs: a core each, the threads of a core first, the sockets in turn",
         .choices = "cores,threads,sockets,no", .sweep = "cores"}};
    int last = 0;
    while (params[last].name)
        last++;
    for (const struct probe_param *own = way->params; own && own->name; own++)
        params[last++] = *own;
    const struct probe probe = {
        .title = way->title,
        .question = way->question,
        .operation = way->operation,
        .source = way->source,
        .statistic = "median",
        .placements = "free",
        .uses = "cpu,sched",
        .metrics = (const struct probe_metric[]){
            {"operation", "s", "lower", "wall", "operations", "time of an operation on the CPU that does it"},
            {"throughput", "1/s", "higher", "operations", "elapsed", "operations in a second, of all contexts together"},
            {"least_fraction", "1", "neither", "least", "one",
             "operations of the context that did fewest, over the mean of all"},
            {0}},
        .params = params,
        .setup = scale_setup,
        .batch = scale_batch,
        .teardown = scale_teardown,
        .selftest = scale_selftest,
    };
    return probe_main(&probe, argc, argv);
}

#endif
