/* SPDX-License-Identifier: Apache-2.0
 * line - two fields of a record, by the distance between them: from which on the second costs a line of its own.
 *
 * Records of 256 bytes are visited at random. The first field says where the second is, the second where the next record
 * is, so that nothing is known before it has come. As long as both lie in one line the second costs a hit in the first
 * cache; from the size of a line on it costs another line, or what is left of it where lines are fetched in groups and
 * that one is on its way already.
 *
 * Known answer: after n visits the tour is at its station number 2 n.
 * Overhead: none that shows; the loop runs beside the loads that it waits for.
 * Limits: the memory lies on huge pages, so that both fields share a translation.
 * Assembly: chase contains mov\s+\(%r\w+\),%r\w+|ldr
 * Source: Drepper, What Every Programmer Should Know About Memory (2007), section 3.3.2; getconf LEVEL1_DCACHE_LINESIZE
 * is what the machine says. */
#include "tour.h"

#define RECORD UINT64_C(256)

struct tour {
    struct station *at;
    uint64_t stations;
};

static void setup(struct probe_run *run)
{
    static struct tour tour;
    uint64_t size = (uint64_t)probe_integer(run, "size"), records = size / RECORD;
    uint64_t distance = (uint64_t)probe_integer(run, "distance") / sizeof(struct station) * sizeof(struct station);
    unsigned char *memory = memory_for_caches(size);
    struct order order = order_of(records);
    for (uint64_t i = 0; i < records; i++) {
        struct station *first = (struct station *)(memory + i * RECORD);
        struct station *second = (struct station *)((unsigned char *)first + distance);
        uint64_t rank = order_rank(&order, i), after = order_place(&order, (rank + 1) % records);
        *first = (struct station){second, 2 * rank};
        *second = (struct station){(struct station *)(memory + after * RECORD), 2 * rank + 1};
    }
    tour.stations = 2 * records;
    tour.at = chase((struct station *)(memory + order_place(&order, 0) * RECORD), tour.stations);
    run->state = &tour;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct tour *tour = run->state;
    uint64_t expected = (tour->at->number + 2 * operations) % tour->stations;
    probe_start(value);
    tour->at = chase(tour->at, 2 * operations);
    probe_stop(value);
    probe_count(value, "checked", tour->at->number == expected ? operations : 0);
}

static const struct probe line_probe = {
    .title = "second field of a record",
    .question = "What does the second field of a record cost, by its distance from the first?",
    .operation = "one visit of a record: its first field, and its second, for which it waits",
    .source = "Drepper, What Every Programmer Should Know About Memory (2007), section 3.3.2",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2,
    .metrics = (const struct probe_metric[]){
        {"visit", "s", "lower", "wall", "operations", "time of one visit"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "distance", .doc = "bytes from the first field to the second, in steps of 16", .unit = "B",
         .sweep = "16,48,64,128", .brief = "48,64", .min = 16, .max = RECORD - 16},
        {.name = "size", .doc = "bytes of all records", .unit = "B", .sweep = "67108864", .min = 512,
         .max = INT64_C(1) << 33},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&line_probe, argc, argv);
}
