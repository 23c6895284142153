/* SPDX-License-Identifier: Apache-2.0
 * touch - the first touch of a new mapping, by what the kernel has to bring: a cleared page, a page of zeros that all
 * share, a page of a cached file, a copy, or a cleared huge page.
 *
 * Known answer: one minor fault for each mapping, and the contents that each kind must have.
 * Overhead: the loop, under 1 ns.  Limits: only the first page of a mapping is touched, so what a mapping needs once is
 * in the figure; call/page_fault has the further pages. Beside each mapping lies a page that is there, so that no table
 * of pages is made. How large the mapping is matters to a file's page alone: the kernel maps its cached neighbours too.
 * With kind=huge a mapping is rounded up to whole huge pages.
 * Assembly: write_first contains movb\s+\$0x1|strb
 * Assembly: read_first contains movz|ldrb
 * Source: small and big page fault of LEBench (Ren et al., SOSP 2019), of files of 1 and 1000 pages; will-it-scale
 * page_fault1 to 3; Documentation/admin-guide/mm/transhuge.rst of Linux. */
#define _GNU_SOURCE
#include "pages.h"

#define MAPPINGS_MOST 64
#define MAPPINGS_HUGE 16 /* 32 MiB are cleared in a round */

enum kind { ANONYMOUS, ZERO, CACHED, COPY, HUGE };

struct mappings {
    enum kind kind;
    uint64_t page, huge, bytes, most; /* bytes of a page, a huge page and a mapping; mappings of a round */
    int fd;
    unsigned char *at[MAPPINGS_MOST];
};

static __attribute__((noinline)) void write_first(unsigned char *const *at, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        *(volatile unsigned char *)at[i] = 1;
}

static __attribute__((noinline)) uint64_t read_first(unsigned char *const *at, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += *(volatile unsigned char *)at[i];
    return sum;
}

static void *map_at(void *address, uint64_t bytes, int protection, int flags, int fd)
{
    void *memory = mmap(address, bytes, protection, flags, fd, 0);
    if (memory == MAP_FAILED)
        probe_skip("%" PRIu64 " bytes cannot be mapped: %s; see ulimit -v and vm.overcommit_memory", bytes,
                   strerror(errno));
    return memory;
}

static void map_one(const struct mappings *m, uint64_t number)
{
    const bool of_file = m->kind == CACHED || m->kind == COPY;
    const int protection = m->kind == CACHED ? PROT_READ : PROT_READ | PROT_WRITE;
    map_at(m->at[number], m->bytes, protection, MAP_FIXED | MAP_PRIVATE | (of_file ? 0 : MAP_ANONYMOUS),
           of_file ? m->fd : -1);
    if (m->kind == HUGE && madvise(m->at[number], m->bytes, MADV_HUGEPAGE) != 0)
        probe_skip("huge pages cannot be asked for: %s", strerror(errno));
    if (m->kind != HUGE)
        small_pages(m->at[number], m->bytes);
}

/* The addresses stay taken, so that nothing else comes to lie there. */
static void unmap_one(const struct mappings *m, uint64_t number)
{
    map_at(m->at[number], m->bytes, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static bool is_right(const struct mappings *m, uint64_t number)
{
    const unsigned char *memory = m->at[number];
    unsigned char kept = 0;
    switch (m->kind) {
    case ANONYMOUS:
        return memory[0] == 1 && memory[m->page - 1] == 0;
    case ZERO:
        return memory[0] == 0 && memory[m->page - 1] == 0;
    case CACHED:
        return memory[0] == file_byte(0, m->page) && memory[m->page - 1] == file_byte(m->page - 1, m->page);
    case COPY:
        return memory[0] == 1 && memory[m->page - 1] == file_byte(m->page - 1, m->page) &&
               pread(m->fd, &kept, 1, 0) == 1 && kept == file_byte(0, m->page);
    case HUGE:
        expect_huge(m->at[number], m->huge);
        return memory[0] == 1 && memory[m->huge - 1] == 0;
    }
    return false;
}

static enum kind kind_of(const struct probe_run *run)
{
    static const char *const names[] = {"anonymous", "zero", "file", "copy", "huge"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (probe_is(run, "kind", names[i]))
            return (enum kind)i;
    probe_fail("there is no kind=%s", probe_choice(run, "kind"));
}

static void setup(struct probe_run *run)
{
    struct mappings *m = calloc(1, sizeof *m);
    if (!m)
        probe_fail("out of memory");
    m->kind = kind_of(run);
    m->page = page_bytes();
    m->huge = m->kind == HUGE ? huge_bytes() : 0;
    m->most = m->kind == HUGE ? MAPPINGS_HUGE : MAPPINGS_MOST;
    m->bytes = (uint64_t)probe_integer(run, "pages") * m->page;
    if (m->kind == HUGE)
        m->bytes = round_up(m->bytes, m->huge);
    m->fd = m->kind == CACHED || m->kind == COPY ? file_of(m->bytes) : -1;

    /* What one table of pages is for; a mapping begins right behind the page that is there, in the same table. */
    const uint64_t table = m->kind == HUGE ? m->huge : m->page * (m->page / sizeof(void *));
    const uint64_t before = m->kind == HUGE ? 0 : m->page, stride = round_up(before + m->bytes, table);
    unsigned char *all = map_at(NULL, m->most * stride + table, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    unsigned char *first = all + (round_up((uintptr_t)all, table) - (uintptr_t)all);
    for (uint64_t i = 0; i < m->most; i++) {
        m->at[i] = first + i * stride + before;
        if (before)
            *(volatile unsigned char *)map_at(first + i * stride, before, PROT_READ | PROT_WRITE,
                                              MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1) = 1;
    }
    run->state = m;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct mappings *m = run->state;
    const uint64_t count = fewer(operations, m->most);
    const bool writes = m->kind != ZERO && m->kind != CACHED;
    uint64_t done = 0, wall_ns = 0, right = 0, faults = 0;
    probe_start(value);
    for (; done < operations; done += count) {
        uint64_t sum = 0, expected = m->kind == CACHED ? count * file_byte(0, m->page) : 0;
        for (uint64_t i = 0; i < count; i++)
            map_one(m, i);
        if (m->kind == COPY)
            read_first(m->at, count); /* the page of the file is there, and may not be written */
        uint64_t faults_before = minor_faults(), begin_ns = probe_now_ns();
        if (writes)
            write_first(m->at, count);
        else
            sum = read_first(m->at, count);
        wall_ns += probe_now_ns() - begin_ns;
        uint64_t taken = minor_faults() - faults_before;
        for (uint64_t i = 0; i < count; i++) {
            right += sum == expected && taken >= count && is_right(m, i);
            unmap_one(m, i);
        }
        faults += taken;
    }
    probe_stop_parts(value, done, wall_ns);
    probe_count(value, "checked", right);
    probe_count(value, "faults", faults);
}

static void teardown(struct probe_run *run)
{
    struct mappings *m = run->state;
    if (m->fd >= 0)
        close(m->fd);
    free(m); /* the addresses go with the process */
}

static const struct probe touch_probe = {
    .title = "first touch of a mapping",
    .question = "What does the first touch of a mapping cost, by what it brings?",
    .operation = "one touch of the first page of a new mapping: a write, or with kind=zero and kind=file a read",
    .source = "LEBench, page fault (Ren et al., SOSP 2019); will-it-scale page_fault1 to 3",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2, /* what lies between two timed parts takes several times as long as they do */
    .metrics = (const struct probe_metric[]){
        {"touch", "s", "lower", "wall", "operations", "time of the touch"},
        {"faults_per_operation", "1", "neither", "faults", "operations", "minor faults that the kernel counted for it"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "kind", .doc = "a cleared page; zeros, only read; a cached file, only read; a copy of its page; a huge page",
         .choices = "anonymous,zero,file,copy,huge", .sweep = "anonymous,zero,file,copy,huge"},
        {.name = "pages", .doc = "pages of the smallest size in the mapping", .unit = "1", .sweep = "1,1000",
         .brief = "1000", .min = 1, .max = 16384},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&touch_probe, argc, argv);
}
