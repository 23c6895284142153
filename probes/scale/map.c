/* SPDX-License-Identifier: Apache-2.0
 * map - 1 to N contexts map memory and unmap it again, untouched, each its own.
 *
 * Known answer: both calls succeed, and each region begins at a page.
 * Overhead: the loop and a count, under 1 ns.  Limits: the sum of both calls; a region may join its neighbour.
 * Assembly: go_on contains (call|bl)\s.*<munmap
 * Source: mmap1 of will-it-scale (Blanchard 2010). */
#define _GNU_SOURCE
#include "scale.h"

#include <sys/mman.h>

#define REGION_BYTES (UINT64_C(128) << 20)

struct work {
    uint64_t page;
};

static void make(struct probe_run *run, struct work *work, int index)
{
    (void)run, (void)index;
    work->page = (uint64_t)sysconf(_SC_PAGESIZE);
}

static inline bool step(const struct work *work)
{
    void *region = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return region != MAP_FAILED && (uintptr_t)region % work->page == 0 && munmap(region, REGION_BYTES) == 0;
}

SCALE_LOOP(step)

int main(int argc, char **argv)
{
    return scale_main(&(const struct way){
        .title = "mmap and munmap, by many",
        .question = "Do several CPUs map and unmap several times as much memory as one?",
        .operation = "one mmap() of 128 MiB that nobody touches, and its munmap()",
        .source = "will-it-scale mmap1 (Blanchard 2010)",
        .work_bytes = sizeof(struct work), .make = make, .go_on = go_on,
    }, argc, argv);
}
