/* SPDX-License-Identifier: Apache-2.0
 * page_fault - 1 to N contexts touch new memory page by page, each a mapping of its own.
 *
 * Known answer: the kernel counts a minor fault of the context for each page.
 * Overhead: the loop and a count, under 1 ns.  Limits: mapping and unmapping the memory are in the figure, shared among
 * its pages. Pages are of the smallest size. Threads fault in one address space, whose locks they share.
 * Assembly: touch_all contains movb\s+\$0x1|strb
 * Source: page_fault1 of will-it-scale (Blanchard 2010). */
#define _GNU_SOURCE
#include "scale.h"

#include "pages.h"

struct work {
    uint64_t page, bytes;
};

static uint64_t own_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_minflt;
}

static __attribute__((noinline)) bool touch_all(const struct work *work, struct tally *mine, const volatile bool *over)
{
    uint64_t before = own_faults(), touched = 0;
    volatile unsigned char *memory =
        mmap(NULL, work->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    madvise((void *)memory, work->bytes, MADV_NOHUGEPAGE); /* fails where there are none, and isn't needed */
    for (uint64_t offset = 0; offset < work->bytes && !*over; offset += work->page) {
        memory[offset] = 1;
        touched++;
        mine->operations++;
    }
    munmap((void *)memory, work->bytes);
    return own_faults() - before >= touched;
}

static void go_on(struct work *work, struct tally *mine, const volatile bool *over)
{
    while (!*over && touch_all(work, mine, over))
        ;
}

static void begin(struct probe_run *run, int contexts)
{
    const uint64_t all = (uint64_t)contexts * (uint64_t)probe_integer(run, "mib"), available = available_mebibytes();
    if (all > available / 2)
        probe_skip("the mappings of %d contexts have %" PRIu64 " MiB and %" PRIu64 " MiB are available: give a smaller mib",
                   contexts, all, available);
}

static void make(struct probe_run *run, struct work *work, int index)
{
    (void)index;
    work->page = page_bytes();
    work->bytes = (uint64_t)probe_integer(run, "mib") << 20;
}

int main(int argc, char **argv)
{
    return scale_main(&(const struct way){
        .title = "first touch of a page, by many",
        .question = "Do several CPUs touch several times as many new pages as one?",
        .operation = "one write to a page that was not there, with its share of mmap() and munmap()",
        .source = "will-it-scale page_fault1 (Blanchard 2010)",
        .params = (const struct probe_param[]){
            {.name = "mib", .doc = "memory that a context maps at once", .unit = "MiB", .sweep = "128",
             .min = 1, .max = 65536},
            {0}},
        .work_bytes = sizeof(struct work), .begin = begin, .make = make, .go_on = go_on,
    }, argc, argv);
}
