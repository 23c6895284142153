/* SPDX-License-Identifier: Apache-2.0
 * unmap - a region of memory of which each page has been written is unmapped: its pages go back to the kernel.
 *
 * Known answer: the kernel counted a fault for each page before, and says of both ends of each region afterwards that
 * they are not mapped.
 * Overhead: the loop, under 1 ns.  Limits: one thread, so no other CPU has to forget the addresses. Pages that are given
 * back and taken again at once are warm in the cache. Pages are of the smallest size.
 * Assembly: unmap_all contains (call|bl)\s.*<munmap
 * Source: small, mid and big munmap of LEBench (Ren et al., SOSP 2019), of a private file whose pages were written. */
#define _GNU_SOURCE
#include "regions.h"

static void setup(struct probe_run *run)
{
    regions_new(run);
}

/* Every page becomes one of the region's own. Returns whether each took a fault. */
static bool write_all(struct regions *regions, uint64_t count)
{
    uint64_t pages = count * (regions->bytes / regions->page), before = minor_faults();
    for (uint64_t i = 0; i < count; i++) {
        volatile unsigned char *memory = regions->at[i];
        small_pages(regions->at[i], regions->bytes);
        for (uint64_t offset = 0; offset < regions->bytes; offset += regions->page)
            memory[offset] = 1;
    }
    return minor_faults() - before >= pages;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct regions *regions = run->state;
    const uint64_t count = fewer(operations, regions->most);
    uint64_t done = 0, wall_ns = 0, right = 0;
    probe_start(value);
    for (; done < operations; done += count) {
        map_all(regions, count, PROT_READ | PROT_WRITE);
        bool written = write_all(regions, count);
        uint64_t begin_ns = probe_now_ns();
        uint64_t unmapped = unmap_all(regions, count);
        wall_ns += probe_now_ns() - begin_ns;
        right += written ? fewer(unmapped, regions_that_are(regions, count, false)) : 0;
    }
    probe_stop_parts(value, done, wall_ns);
    probe_count(value, "checked", right);
    probe_count(value, "pages", done * (regions->bytes / regions->page));
}

static const struct probe unmap_probe = {
    .title = "munmap",
    .question = "What does it cost to give memory back that has been written?",
    .operation = "one munmap() of a private region, each of whose pages has been written",
    .source = "LEBench, munmap (Ren et al., SOSP 2019)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2, /* what lies between two timed parts takes several times as long as they do */
    .metrics = (const struct probe_metric[]){
        {"unmap", "s", "lower", "wall", "operations", "time of one munmap()"},
        {"page", "s", "lower", "wall", "pages", "the same, divided by the number of pages"},
        {0}},
    .params = (const struct probe_param[]){REGIONS_PARAMS, {0}},
    .setup = setup,
    .batch = batch,
    .teardown = regions_teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&unmap_probe, argc, argv);
}
