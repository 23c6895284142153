/* SPDX-License-Identifier: Apache-2.0
 * protect - a region of memory, each page of which has been written, becomes read-only and writable in turn.
 *
 * Known answer: the kernel refuses to write into the region after an odd number of calls, and does so after an even one.
 * Overhead: the loop, under 1 ns.  Limits: one thread, so no other CPU has to forget the old protection. Half of the
 * calls take a right away, which flushes addresses, and half give it, which may be left to the next fault.
 * Assembly: protect_all contains (call|bl)\s.*<mprotect
 * Source: mprotect() of libMicro; what collectors of garbage and just-in-time compilers do. */
#define _GNU_SOURCE
#include "pages.h"

struct region {
    unsigned char *memory;
    uint64_t bytes;
    int zeros; /* what the kernel is asked to write into the region, to see whether it may */
};

static __attribute__((noinline)) uint64_t protect_all(const struct region *region, uint64_t times)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < times; i++)
        done += mprotect(region->memory, region->bytes, i & 1 ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
    return done;
}

static bool kernel_may_write(const struct region *region, uint64_t offset)
{
    return read(region->zeros, region->memory + offset, 1) == 1;
}

static void make_writable(const struct region *region, uint64_t page)
{
    if (mprotect(region->memory, region->bytes, PROT_READ | PROT_WRITE) != 0)
        probe_fail("the region cannot be made writable again: %s", strerror(errno));
    for (uint64_t offset = 0; offset < region->bytes; offset += page)
        region->memory[offset] = 1;
}

static void setup(struct probe_run *run)
{
    struct region *region = calloc(1, sizeof *region);
    const uint64_t page = page_bytes();
    if (!region)
        probe_fail("out of memory");
    region->bytes = (uint64_t)probe_integer(run, "pages") * page;
    region->zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (region->zeros < 0)
        probe_skip("/dev/zero cannot be opened: %s", strerror(errno));
    void *memory = mmap(NULL, region->bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        probe_skip("%" PRIu64 " MiB cannot be had: %s", region->bytes >> 20, strerror(errno));
    region->memory = (unsigned char *)memory + page; /* no neighbour that it could be joined with */
    small_pages(region->memory, region->bytes);
    make_writable(region, page);
    run->state = region;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct region *region = run->state;
    const uint64_t page = page_bytes();
    const bool writable_after = operations % 2 == 0;
    probe_start(value);
    uint64_t done = protect_all(region, operations);
    probe_stop(value);
    bool right = kernel_may_write(region, 0) == writable_after &&
                 kernel_may_write(region, region->bytes - page) == writable_after;
    probe_count(value, "checked", right ? done : 0);
    make_writable(region, page); /* and there: the next batch begins where this one did */
}

static void teardown(struct probe_run *run)
{
    struct region *region = run->state;
    const uint64_t page = page_bytes();
    munmap(region->memory - page, region->bytes + 2 * page);
    close(region->zeros);
    free(region);
}

static const struct probe protect_probe = {
    .title = "mprotect",
    .question = "What does it cost to change what may be done with memory?",
    .operation = "one mprotect() of a region whose pages are there, to read-only and back in turn",
    .source = "libMicro, mprotect",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"protect", "s", "lower", "wall", "operations", "time of one mprotect(), half of them each way"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "pages", .doc = "pages of the smallest size in the region", .unit = "1", .sweep = "1,10,100,1000,10000",
         .brief = "1,1000", .min = 1, .max = 262144},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&protect_probe, argc, argv);
}
