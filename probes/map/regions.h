/* SPDX-License-Identifier: Apache-2.0
 * regions.h - regions of memory that are mapped and unmapped, many in a round.
 *
 * Clocks are read once a round. Each region has a place of its own in a part of the address space that nobody else uses,
 * and a free page before it: neighbours that touch would become one region. */
#ifndef STEELYARD_MAP_REGIONS_H
#define STEELYARD_MAP_REGIONS_H

#include "pages.h"

#define REGIONS_MOST 256
#define REGIONS_PAGES UINT64_C(16384) /* of a round, at most, unless one region has more */

struct regions {
    uint64_t page, bytes, most; /* bytes of a page and of a region; regions of a round */
    unsigned char *place;       /* of the first */
    int fd;                     /* what is mapped: a file, or -1 for zeroed memory */
    void *at[REGIONS_MOST];     /* where the regions of this round are */
};

/* The place is found by mapping all of it once, which the kernel then forgets. */
static inline struct regions *regions_new(struct probe_run *run)
{
    struct regions *regions = calloc(1, sizeof *regions);
    const uint64_t pages = (uint64_t)probe_integer(run, "pages");
    if (!regions)
        probe_fail("out of memory");
    regions->page = page_bytes();
    regions->bytes = pages * regions->page;
    regions->most = pages > REGIONS_PAGES ? 1 : REGIONS_PAGES / pages;
    if (regions->most > REGIONS_MOST)
        regions->most = REGIONS_MOST;
    regions->fd = probe_is(run, "kind", "file") ? file_of(regions->bytes) : -1;
    const uint64_t all = regions->most * (regions->bytes + regions->page) + regions->page;
    void *place = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED || munmap(place, all) != 0)
        probe_skip("%" PRIu64 " MiB of addresses cannot be had: %s; see ulimit -v", all >> 20, strerror(errno));
    regions->place = (unsigned char *)place + regions->page;
    run->state = regions;
    return regions;
}

static inline void *regions_hint(const struct regions *regions, uint64_t number)
{
    return regions->place + number * (regions->bytes + regions->page);
}

static inline _Noreturn void regions_refused(const struct regions *regions)
{
    probe_skip("%" PRIu64 " bytes cannot be mapped: %s; see ulimit -v, vm.max_map_count and vm.overcommit_memory",
               regions->bytes, strerror(errno));
}

/* Regions number 0 to `count` less one, private. */
static __attribute__((noinline)) void map_all(struct regions *regions, uint64_t count, int protection)
{
    const int flags = MAP_PRIVATE | (regions->fd < 0 ? MAP_ANONYMOUS : 0);
    for (uint64_t i = 0; i < count; i++) {
        regions->at[i] = mmap(regions_hint(regions, i), regions->bytes, protection, flags, regions->fd, 0);
        if (regions->at[i] == MAP_FAILED)
            regions_refused(regions);
    }
}

static __attribute__((noinline)) uint64_t unmap_all(const struct regions *regions, uint64_t count)
{
    uint64_t unmapped = 0;
    for (uint64_t i = 0; i < count; i++)
        unmapped += munmap(regions->at[i], regions->bytes) == 0;
    return unmapped;
}

/* Whether both ends of a region are mapped, or neither is, as the kernel says it. */
static inline bool region_is(const struct regions *regions, uint64_t number, bool mapped)
{
    unsigned char resident;
    unsigned char *first = regions->at[number], *last = first + regions->bytes - regions->page;
    return (mincore(first, regions->page, &resident) == 0) == mapped &&
           (mincore(last, regions->page, &resident) == 0) == mapped;
}

static inline uint64_t regions_that_are(const struct regions *regions, uint64_t count, bool mapped)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < count; i++)
        right += region_is(regions, i, mapped);
    return right;
}

static inline void regions_teardown(struct probe_run *run)
{
    struct regions *regions = run->state;
    if (regions->fd >= 0)
        close(regions->fd);
    free(regions);
}

/* Declarations of the usual parameters. */
#define REGIONS_PARAMS \
    {.name = "pages", .doc = "pages of the smallest size in a region", .unit = "1", .sweep = "1,10,1000", \
     .brief = "1,1000", .min = 1, .max = 16384}, \
    {.name = "kind", .doc = "what is mapped", .choices = "anonymous,file", .sweep = "anonymous,file"}

#endif
