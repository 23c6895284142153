/* SPDX-License-Identifier: Apache-2.0
 * latency - a load whose address the load before has brought, in a working set of 1 KiB to twice the last cache.
 *
 * Each cache line holds the address of the next one, in one closed tour of all lines in random order. As long as the
 * lines fit into a cache a step costs that cache's latency; where they outgrow it the curve steps up, and so the sizes
 * of the caches are read off the curve. The memory lies on huge pages; what translation costs is cache/tlb's subject.
 *
 * Known answer: after n steps the tour is at its station number n, whichever way it went there.
 * Overhead: none that shows; the loop runs beside the load that it waits for.
 * Limits: in a virtual machine the last cache is shared with neighbours, and may be other than what is reported. Around
 * the size of a cache part of the lines miss, so that a step spans a factor of two. Lines next to a line may be fetched
 * with it.
 * Assembly: chase contains mov\s+\(%r\w+\),%r\w+|ldr
 * Source: lat_mem_rd of lmbench (McVoy & Staelin, USENIX 1996), in random order instead of by a stride; Drepper, What
 * Every Programmer Should Know About Memory (2007), section 3.3. */
#include "tour.h"

/* Lines: what is larger stays in no cache that is private to a CPU, and one more round of it would take seconds. */
#define MOST_REHEARSED (UINT64_C(1) << 18)

static struct station *in_line(unsigned char *memory, uint64_t index)
{
    return (struct station *)(memory + index * PROBE_CACHE_LINE);
}

struct tour {
    struct station *at;
    uint64_t lines;
};

static void setup(struct probe_run *run)
{
    static struct tour tour;
    uint64_t size = (uint64_t)probe_integer(run, "size");
    tour.lines = size / PROBE_CACHE_LINE;
    tour.at = tour_new(memory_for_caches(size), tour.lines, in_line);
    tour.at = chase(tour.at, tour.lines <= MOST_REHEARSED ? tour.lines : 0); /* what fits is there */
    run->state = &tour;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct tour *tour = run->state;
    uint64_t expected = (tour->at->number + operations) % tour->lines;
    probe_start(value);
    tour->at = chase(tour->at, operations);
    probe_stop(value);
    probe_count(value, "checked", tour->at->number == expected ? operations : 0);
}

static char sweep[512];

static struct probe_param params[] = {
    {.name = "size", .doc = "bytes that are visited in turn", .unit = "B", .sweep = sweep,
     .brief = "16384,262144,4194304", .min = 1024, .max = INT64_C(1) << 34},
    {0}};

static const struct probe latency_probe = {
    .title = "dependent load",
    .question = "How long does a load take, by the size of the memory that is visited?",
    .operation = "one load of an address that the load before has brought, in random order",
    .source = "lmbench lat_mem_rd (McVoy & Staelin 1996); Drepper, What Every Programmer Should Know About Memory "
              "(2007)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2,
    .metrics = (const struct probe_metric[]){
        {"load", "s", "lower", "wall", "operations", "time from one load to the next that waits for it"}, {0}},
    .params = params,
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    doubling_sweep(sweep, sizeof sweep, 1024, 2 * last_level_bytes());
    return probe_main(&latency_probe, argc, argv);
}
