/* SPDX-License-Identifier: Apache-2.0
 * remap - a region of memory, each page of which has been written, moves to another address and back by mremap().
 *
 * Where both addresses lie alike within what one table of pages is for (2 MiB, most often), the kernel moves whole tables
 * since Linux 5.0, and entry by entry elsewhere.
 *
 * Known answer: after the calls the region is where the last one put it, with what was written in its first and its last
 * page, and the other place is not mapped.
 * Overhead: the loop, under 1 ns.  Limits: one thread, so no other CPU has to forget the old addresses. Pages are of the
 * smallest size.
 * Assembly: move_all contains (call|bl)\s.*<mremap
 * Source: commit 2c91bd4a4e2e of Linux (Fernandes 2019), which moves 1 GiB so. */
#define _GNU_SOURCE
#include "pages.h"

struct region {
    unsigned char *place[2]; /* where it is, by turns */
    uint64_t bytes, page;
    bool moved; /* whether it is at the second */
};

static __attribute__((noinline)) uint64_t move_all(struct region *region, uint64_t times)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < times; i++) {
        unsigned char *from = region->place[region->moved], *to = region->place[!region->moved];
        done += mremap(from, region->bytes, region->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
        region->moved = !region->moved;
    }
    return done;
}

static void setup(struct probe_run *run)
{
    struct region *region = calloc(1, sizeof *region);
    const uint64_t page = page_bytes(), table = page * (page / sizeof(void *));
    if (!region)
        probe_fail("out of memory");
    region->page = page;
    region->bytes = (uint64_t)probe_integer(run, "pages") * page;
    if (region->bytes >> 20 > available_mebibytes())
        probe_skip("%" PRIu64 " MiB are to be resident and %" PRIu64 " MiB are available", region->bytes >> 20,
                   available_mebibytes());
    /* Addresses that stay ours: a free page or more lies before and behind both places. */
    const uint64_t room = round_up(region->bytes, table) + table;
    unsigned char *all = mmap(NULL, 2 * room + 2 * table, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        probe_skip("%" PRIu64 " MiB of addresses cannot be had: %s; see ulimit -v", 2 * room >> 20, strerror(errno));
    unsigned char *first = all + (round_up((uintptr_t)all, table) - (uintptr_t)all);
    region->place[0] = first;
    region->place[1] = first + room + (probe_is(run, "tables", "whole") ? 0 : page);
    if (mmap(region->place[0], region->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED || munmap(region->place[1], region->bytes) != 0)
        probe_skip("%" PRIu64 " MiB cannot be mapped: %s; see ulimit -v and vm.overcommit_memory", region->bytes >> 20,
                   strerror(errno));
    madvise(region->place[0], region->bytes, MADV_NOHUGEPAGE); /* fails where there are none, and isn't needed */
    const uint64_t before = minor_faults();
    for (uint64_t offset = 0; offset < region->bytes; offset += page)
        region->place[0][offset] = file_byte(offset, page);
    if (minor_faults() - before < region->bytes / page)
        probe_skip("the kernel maps larger pages though asked not to");
    run->state = region;
}

static bool is_right(const struct region *region)
{
    const unsigned char *here = region->place[region->moved];
    const uint64_t last = region->bytes - region->page;
    unsigned char resident;
    return here[0] == file_byte(0, region->page) && here[last] == file_byte(last, region->page) &&
           mincore(region->place[!region->moved], region->page, &resident) != 0 &&
           mincore(region->place[!region->moved] + last, region->page, &resident) != 0;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct region *region = run->state;
    probe_start(value);
    uint64_t done = move_all(region, operations);
    probe_stop(value);
    probe_count(value, "checked", is_right(region) ? done : 0);
    probe_count(value, "pages", operations * (region->bytes / region->page));
}

static const struct probe remap_probe = {
    .title = "mremap",
    .question = "What does it cost to move memory to another address without a copy?",
    .operation = "one mremap() of a private region whose pages are there, to another fixed address",
    .source = "Linux, commit 2c91bd4a4e2e (J. Fernandes, 2019)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"remap", "s", "lower", "wall", "operations", "time of one mremap()"},
        {"page", "s", "lower", "wall", "pages", "the same, divided by the number of pages"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "pages", .doc = "pages of the smallest size in the region", .unit = "1", .sweep = "1,10,512,16384",
         .brief = "1,512", .min = 1, .max = 1048576},
        {.name = "tables", .doc = "whether whole tables of pages can move, or their entries one by one",
         .choices = "whole,entries", .sweep = "whole,entries"},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&remap_probe, argc, argv);
}
