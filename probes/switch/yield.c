/* SPDX-License-Identifier: Apache-2.0
 * yield - sched_yield() among 1 to 65536 contexts that all do nothing else.
 *
 * A yield is no switch: with one context, or with a scheduler that lets the caller go on, it returns to where it was.
 * So each context notes after its yield whether another of ours ran on its CPU meanwhile, and the cost is given per
 * yield and per real switch. The seed divided by yields and took the quotient for the cost of a switch.
 *
 * All contexts run from the first batch to the last: woken for each batch, thousands of sleepers would be what is
 * measured. Context 0 is the caller and the timekeeper: it yields like the others, and between two of its yields reads
 * the clock and everybody's tally. A batch ends when enough yields were made and every context made at least one.
 *
 * Known answer: one context never switches. The switches seen here are compared with the kernel's own count of the
 * whole run; it books a yield's switch as involuntary, because the caller stays runnable.
 * Overhead: counting takes about 2 ns and a cache line a yield; reading the tallies a few ns a context and batch.
 * Limits: the cost is wall time times the CPUs that contexts fill, which is CPU time only while they do fill them; two
 * contexts on free CPUs may share one for a while. A batch lasts a round of all contexts or more. A change to a task
 * that is not ours and back is not seen as a switch.
 * Assembly: yield_times contains (call|bl).*<sched_yield
 * Source: t_yield.c of shell909090/context (2014), which charges every yield as a switch; the ring of processes of
 * lmbench's lat_ctx (McVoy & Staelin, USENIX 1996) for cost against the number of contexts. */
#include "contexts.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

struct crowd {
    int contexts;
    struct gate *gate;
    struct tally *tally; /* one a context */
    struct last_ran *last_ran;
    struct contexts *others;
    /* The timekeeper's own: */
    uint64_t *before; /* what each context had done when the batch began */
    uint64_t kernel_switches; /* when the run began */
    uint64_t cpu_ns, filled_ns; /* CPU time of all batches, and what the CPUs that the contexts fill could give */
};

struct reading {
    uint64_t clock_ns, yields, switches;
    bool everyone; /* no context stands where it stood in `before` */
};

static __attribute__((noinline)) void yield_times(const struct crowd *crowd, int index, uint64_t times)
{
    struct tally *mine = &crowd->tally[index];
    for (uint64_t i = 0; i < times && !crowd->gate->stop; i++) {
        if (sched_yield() != 0)
            continue;
        mine->switches += last_ran_switched(crowd->last_ran, index);
        mine->operations++;
    }
}

static void body(struct probe_run *run, int index, void *shared)
{
    const struct crowd *crowd = shared;
    (void)run;
    gate_pass(crowd->gate);
    yield_times(crowd, index, UINT64_MAX);
}

/* The clock comes first: then both ends of a batch are the clock followed by the same walk over the tallies. */
static struct reading read_tallies(const struct crowd *crowd)
{
    struct reading now = {.clock_ns = probe_now_ns(), .everyone = true};
    for (int i = 0; i < crowd->contexts; i++) {
        uint64_t yields = crowd->tally[i].operations;
        now.yields += yields;
        now.switches += crowd->tally[i].switches;
        now.everyone &= yields != crowd->before[i];
    }
    return now;
}

static struct reading begin_batch(struct crowd *crowd)
{
    for (int i = 0; i < crowd->contexts; i++)
        crowd->before[i] = crowd->tally[i].operations;
    return read_tallies(crowd);
}

/* Yields as often as falls to one context of what is missing, until it is done and everyone took part. */
static struct reading yield_until(struct crowd *crowd, const struct reading *begin, uint64_t yields, uint64_t *own)
{
    struct reading now = *begin;
    do {
        uint64_t done = now.yields - begin->yields;
        uint64_t share = done < yields ? (yields - done) / (uint64_t)crowd->contexts : 0;
        share += share == 0;
        yield_times(crowd, 0, share);
        *own += share;
        now = read_tallies(crowd);
    } while (now.yields - begin->yields < yields || !now.everyone);
    return now;
}

static uint64_t kernel_switches(void)
{
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return (uint64_t)(self.ru_nivcsw + children.ru_nivcsw);
}

static void setup(struct probe_run *run)
{
    struct crowd *crowd = calloc(1, sizeof *crowd);
    uint64_t contexts = (uint64_t)probe_integer(run, "contexts");
    if (!crowd || !(crowd->before = calloc(contexts, sizeof *crowd->before)))
        probe_fail("out of memory");
    crowd->contexts = (int)contexts;
    crowd->gate = probe_share(sizeof *crowd->gate);
    crowd->tally = probe_share(contexts * sizeof *crowd->tally);
    crowd->last_ran = last_ran_new();
    crowd->kernel_switches = kernel_switches();
    run->state = crowd;
    crowd->others = contexts_start(run, probe_is(run, "kind", "process"), 1, crowd->contexts - 1, body, crowd);
    gate_open(crowd->gate, crowd->contexts - 1);
    uint64_t own = 0;
    struct reading begin = begin_batch(crowd);
    yield_until(crowd, &begin, 1, &own); /* nobody's first yield, with its page faults, falls into a batch */
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct crowd *crowd = run->state;
    uint64_t accounted = read_tallies(crowd).yields, own = 0;
    probe_start(value);
    /* What probe_start did may have used up the time slice. A yield begins a new one: preempted while it reads, the
     * timekeeper would put a whole round of the others into the time and only a part of it into the count. */
    yield_times(crowd, 0, 1);
    uint64_t own_before = crowd->tally[0].operations;
    struct reading begin = begin_batch(crowd), end = yield_until(crowd, &begin, operations, &own);
    accounted = read_tallies(crowd).yields - accounted;
    probe_stop(value);
    value->lanes = (uint32_t)(crowd->contexts < run->cpus ? crowd->contexts : run->cpus);
    value->wall_ns = end.clock_ns - begin.clock_ns; /* not probe_stop's, which also holds what probe_start read */
    value->operations = end.yields - begin.yields;
    /* Proof: each of the timekeeper's own yields succeeded, and everyone's tally has moved. */
    bool counted = crowd->tally[0].operations - own_before == own;
    probe_count(value, "checked", counted && end.everyone ? value->operations : 0);
    probe_count(value, "switches", end.switches - begin.switches);
    /* CPU time is read over a longer time than the batch, in which the others run on: it belongs to these yields. */
    probe_count(value, "accounted", accounted);
    crowd->cpu_ns += value->cpu_ns;
    crowd->filled_ns += value->wall_ns * value->lanes;
}

/* The kernel counts the switches to strangers too, and some around start and end. */
static void compare_with_kernel(const struct crowd *crowd)
{
    uint64_t kernel = kernel_switches() - crowd->kernel_switches, seen = read_tallies(crowd).switches;
    uint64_t difference = kernel > seen ? kernel - seen : seen - kernel;
    if (difference > kernel / 20 + 2 * (uint64_t)crowd->contexts + 100)
        probe_caveat("the switches that the contexts saw and those that the kernel counted differ by more than 5 %%: "
                     "other tasks ran in between");
}

static void teardown(struct probe_run *run)
{
    struct crowd *crowd = run->state;
    crowd->gate->stop = true;
    contexts_join(run, crowd->others);
    compare_with_kernel(crowd);
    if (crowd->cpu_ns < crowd->filled_ns / 10 * 8)
        probe_caveat("the contexts had less than 80 %% of the CPUs that the cost assumes they fill, and it is too high "
                     "by what they lacked; yield_cpu is not");
}

static const struct probe yield_probe = {
    .title = "sched_yield",
    .question = "What does sched_yield cost among many contexts, and how often does it switch?",
    .operation = "one sched_yield() call of one context, whether it switched or not; CPU time",
    .source = "shell909090/context t_yield.c (2014); after lmbench lat_ctx (McVoy & Staelin 1996)",
    .statistic = "lower_quartile",
    .placements = "same,free",
    .uses = "cpu,sched",
    .family = "turn",
    .metrics = (const struct probe_metric[]){
        {"yield", "s", "lower", "wall", "operations", "time of one yield on a CPU"},
        {"real_switch", "s", "lower", "wall", "switches", "time a switch between two of the contexts that happened"},
        {"switched_fraction", "1", "neither", "switches", "operations", "share of the yields that switched"},
        {"yield_cpu", "s", "lower", "cpu", "accounted", "CPU time of one yield, as the kernel accounts it"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "contexts", .doc = "contexts that yield", .unit = "1", .sweep = "1,2,4,8,10,20,40,64,512,4096",
         .brief = "1,2,64,512", .min = 1, .max = 65536},
        CONTEXTS_KIND_PARAM("thread,process"),
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&yield_probe, argc, argv);
}
