/* SPDX-License-Identifier: Apache-2.0
 * map - a region of memory is mapped, and nobody touches it.
 *
 * Known answer: the kernel says of both ends of each region that they are mapped, and after the round that they are not.
 * Overhead: the loop and a word that is written, about 1 ns.  Limits: the address is proposed, and free; a region is
 * never merged with its neighbour. What is mapped costs again when it is touched: map/touch.
 * Assembly: map_all contains (call|bl)\s.*<mmap
 * Source: small, mid and big mmap of LEBench (Ren et al., SOSP 2019), of a file; will-it-scale mmap1 (with munmap). */
#define _GNU_SOURCE
#include "regions.h"

static void setup(struct probe_run *run)
{
    regions_new(run);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct regions *regions = run->state;
    const uint64_t count = fewer(operations, regions->most);
    const int protection = regions->fd < 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    uint64_t done = 0, wall_ns = 0, right = 0;
    probe_start(value);
    for (; done < operations; done += count) {
        uint64_t begin_ns = probe_now_ns();
        map_all(regions, count, protection);
        wall_ns += probe_now_ns() - begin_ns;
        uint64_t mapped = regions_that_are(regions, count, true);
        unmap_all(regions, count);
        right += fewer(mapped, regions_that_are(regions, count, false));
    }
    probe_stop_parts(value, done, wall_ns);
    probe_count(value, "checked", right);
}

static const struct probe map_probe = {
    .title = "mmap",
    .question = "What does it cost to map memory that nobody touches yet?",
    .operation = "one mmap() of a private region, of a file or of zeroed memory; munmap() is not in it",
    .source = "LEBench, mmap (Ren et al., SOSP 2019); will-it-scale mmap1",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2, /* what lies between two timed parts takes several times as long as they do */
    .metrics = (const struct probe_metric[]){
        {"map", "s", "lower", "wall", "operations", "time of one mmap()"}, {0}},
    .params = (const struct probe_param[]){REGIONS_PARAMS, {0}},
    .setup = setup,
    .batch = batch,
    .teardown = regions_teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&map_probe, argc, argv);
}
