/* SPDX-License-Identifier: Apache-2.0
 * page_fault - the first touch of a page: the processor enters the kernel, which finds, clears and maps one.
 *
 * A batch maps fresh memory, touches each of its pages once, timed, and gives it back. Pages are of the smallest size.
 *
 * Known answer: the kernel counts one minor fault a page, and a page that is new holds zero.
 * Overhead: the loop, under 1 ns a page.
 * Limits: a page that another program has just given back is warm in the cache; of much memory the page tables are in
 * the figure, a five-hundredth of a fault each. A page that is copied on write costs the copy instead of the clearing.
 * Assembly: touch_all contains movb\s+\$0x1|strb
 * Source: lmbench lat_pagefault (McVoy & Staelin 1996), of a file's pages; will-it-scale page_fault1. */
#define _GNU_SOURCE
#include "pages.h"

#define MOST_PAGES UINT64_C(16384) /* mapped at once: 64 MiB */

static uint64_t page;

/* The timed part. By a write: a page that is read first takes two faults. */
static __attribute__((noinline)) void touch_all(volatile unsigned char *memory, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++)
        memory[i * page] = 1;
}

/* How many of the pages are as they should be now: zero but for what was written. */
static uint64_t touched(const unsigned char *memory, uint64_t pages)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < pages; i++)
        right += memory[i * page] == 1 && memory[i * page + page - 1] == 0;
    return right;
}

static unsigned char *fresh(uint64_t pages)
{
    void *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        probe_skip("%llu MiB can't be had: %s", (unsigned long long)(pages * page >> 20), strerror(errno));
    small_pages(memory, pages * page);
    return memory;
}

static void setup(struct probe_run *run)
{
    (void)run;
    page = page_bytes();
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    uint64_t pages = fewer(operations, MOST_PAGES), done = 0, wall_ns = 0, right = 0, faults = 0;
    (void)run;
    probe_start(value);
    for (; done < operations; done += pages) {
        unsigned char *memory = fresh(pages);
        uint64_t faults_before = minor_faults(), begin_ns = probe_now_ns();
        touch_all(memory, pages);
        wall_ns += probe_now_ns() - begin_ns;
        faults += minor_faults() - faults_before;
        right += touched(memory, pages);
        munmap(memory, pages * page);
    }
    probe_stop_parts(value, done, wall_ns);
    probe_count(value, "checked", right == done && faults >= done ? done : 0);
    probe_count(value, "faults", faults);
}

static const struct probe page_fault = {
    .title = "first touch of a page",
    .question = "What does the first touch of a page of memory cost?",
    .operation = "one write to a page that was not there, which the kernel finds, clears and maps",
    .source = "lmbench lat_pagefault (McVoy & Staelin 1996); will-it-scale page_fault1",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"page_fault", "s", "lower", "wall", "operations", "time of the write"},
        {"faults_per_operation", "1", "neither", "faults", "operations", "minor faults that the kernel counted for it"},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&page_fault, argc, argv);
}
