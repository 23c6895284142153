/* SPDX-License-Identifier: Apache-2.0
 * tlb - a load from another page each time: how many pages the processor can translate without looking into the tables.
 *
 * One line of each 4096 bytes is visited in one random tour. With pages=huge the same addresses lie on pages of 2 MiB,
 * of which 512 visits share one translation: the difference of the two is what translation costs. The lines of
 * neighbouring pages are at different places in them, so that they do not all fall into a few sets of the cache.
 * pages=fixed are small pages at an address that the program demands (MAP_FIXED), which advice takes for a remedy.
 *
 * Known answer: after n steps the tour is at its station number n.
 * Overhead: the latency of the cache that holds the lines, which is the same for both kinds of pages.
 * Limits: huge pages are those that the kernel gives on request (transparent_hugepage); without them the case is
 * skipped. In a virtual machine the host's pages count as well, and are not ours to choose.
 * Assembly: chase contains mov\s+\(%r\w+\),%r\w+|ldr
 * Source: lmbench's tlb (C. Staelin); Drepper, What Every Programmer Should Know About Memory (2007), section 4. */
#include "tour.h"

static struct station *in_page(unsigned char *memory, uint64_t index)
{
    uint64_t line = (index * 7 + index / 64) % (SMALL_PAGE / PROBE_CACHE_LINE);
    return (struct station *)(memory + index * SMALL_PAGE + line * PROBE_CACHE_LINE);
}

struct tour {
    struct station *at;
    uint64_t pages;
};

/* Small pages where the program says: over a mapping of its own, for what lies elsewhere would be lost. */
static void *memory_at_fixed_address(uint64_t bytes)
{
    void *reserved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        probe_skip("%llu MiB of addresses are not available", (unsigned long long)(bytes >> 20));
    void *memory = mmap(reserved, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (memory != reserved)
        probe_skip("%llu MiB of memory are not available", (unsigned long long)(bytes >> 20));
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    memset(memory, 0, bytes);
    return memory;
}

static void setup(struct probe_run *run)
{
    static struct tour tour;
    bool huge = probe_is(run, "pages", "huge");
    tour.pages = (uint64_t)probe_integer(run, "visited");
    uint64_t bytes = tour.pages * SMALL_PAGE;
    uint64_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; /* the last page must be a huge one as well */
    void *memory = probe_is(run, "pages", "fixed") ? memory_at_fixed_address(whole)
                                                   : memory_new(whole, huge ? HUGE_PAGES : SMALL_PAGES);
    if (huge && huge_bytes_at(memory) < whole)
        probe_skip("no huge pages are to be had: see /sys/kernel/mm/transparent_hugepage/enabled, and free memory");
    tour.at = tour_new(memory, tour.pages, in_page);
    tour.at = chase(tour.at, tour.pages);
    run->state = &tour;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct tour *tour = run->state;
    uint64_t expected = (tour->at->number + operations) % tour->pages;
    probe_start(value);
    tour->at = chase(tour->at, operations);
    probe_stop(value);
    probe_count(value, "checked", tour->at->number == expected ? operations : 0);
}

static const struct probe tlb_probe = {
    .title = "load from another page",
    .question = "How long does a load take, by the number of pages that are visited and their size?",
    .operation = "one load of an address that the load before has brought, each from another 4096 bytes",
    .source = "lmbench tlb (Staelin); Drepper, What Every Programmer Should Know About Memory (2007), section 4",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2,
    .metrics = (const struct probe_metric[]){
        {"load", "s", "lower", "wall", "operations", "time from one load to the next that waits for it"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "visited", .doc = "stretches of 4096 bytes of which one line is visited", .unit = "1",
         .sweep = "16,64,1024,2048,4096,16384,32768", .brief = "64,1024,16384", .min = 2,
         .max = 4194304},
        {.name = "pages", .doc = "pages of 4 KiB, of 2 MiB, or of 4 KiB at an address that the program demands",
         .choices = "small,huge,fixed", .sweep = "small,huge,fixed", .brief = "small,huge"},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&tlb_probe, argc, argv);
}
