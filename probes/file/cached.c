/* SPDX-License-Identifier: Apache-2.0
 * cached - a file that is in the page cache is read or written whole by one call, from its beginning.
 *
 * Known answer: each call moves all bytes. Before a read the last byte of the buffer is another than the file's, and is
 * right after it; a write brings its number, and the last one is in the file. Memory that is new takes faults.
 * Overhead: setting and looking at a byte, about 1 ns; for memory that is new two readings of the clock for up to 64 MiB.
 * Limits: the kernel's copy from or to its cache, no disk; what is written goes to the disk later, which a slow disk can
 * make a writer wait for. Memory that is new is touched within the call: most of that figure can be its faults.
 * Assembly: read_all contains (call|bl)\s.*<pread
 * Assembly: write_all contains (call|bl)\s.*<pwrite
 * Source: small, mid and big read and write of LEBench (Ren et al., SOSP 2019), files of 1, 10 and 1000 pages. */
#define _GNU_SOURCE
#include "pages.h"

#define NEW_BYTES (UINT64_C(64) << 20) /* memory that is new, of a round */
#define BUFFERS_MOST 256

struct file {
    int fd;
    uint64_t size, stride, buffers, bytes; /* of the file; from buffer to buffer; how many; of all together */
    unsigned char *memory, last;           /* the buffers; the file's last byte */
    bool writes, fresh, huge;
    uint64_t written; /* the number of the last write */
};

static __attribute__((noinline)) uint64_t read_all(const struct file *file, uint64_t times)
{
    uint64_t right = 0;
    unsigned char *buffer = file->memory;
    for (uint64_t i = 0; i < times; i++, buffer += file->stride) {
        if (file->stride == 0)
            ((volatile unsigned char *)buffer)[file->size - 1] = 0;
        right += pread(file->fd, buffer, file->size, 0) == (ssize_t)file->size && buffer[file->size - 1] == file->last;
    }
    return right;
}

static __attribute__((noinline)) uint64_t write_all(struct file *file, uint64_t times)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++) {
        file->written++;
        memcpy(file->memory, &file->written, sizeof file->written);
        right += pwrite(file->fd, file->memory, file->size, 0) == (ssize_t)file->size;
    }
    return right;
}

static void setup(struct probe_run *run)
{
    struct file *file = calloc(1, sizeof *file);
    if (!file)
        probe_fail("out of memory");
    const uint64_t page = page_bytes();
    file->size = (uint64_t)probe_integer(run, "size");
    file->writes = probe_is(run, "way", "write");
    file->huge = probe_is(run, "way", "read_huge");
    file->fresh = file->huge || probe_is(run, "way", "read_fresh");
    file->fd = file_of(file->size);
    file->last = file_byte(file->size - 1, page);
    file->stride = file->fresh ? round_up(file->size, page) : 0;
    file->buffers = !file->fresh ? 1 : file->stride > NEW_BYTES ? 1 : NEW_BYTES / file->stride;
    if (file->buffers > BUFFERS_MOST)
        file->buffers = BUFFERS_MOST;
    const uint64_t around = file->huge ? huge_bytes() : page;
    file->bytes = round_up(file->buffers * round_up(file->size, page), around);
    unsigned char *memory = mmap(NULL, file->bytes + around, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        probe_skip("%" PRIu64 " MiB cannot be had: %s", (file->bytes + around) >> 20, strerror(errno));
    file->memory = memory + (round_up((uintptr_t)memory, around) - (uintptr_t)memory);
    if (file->huge && madvise(file->memory, file->bytes, MADV_HUGEPAGE) != 0)
        probe_skip("huge pages cannot be asked for: %s", strerror(errno));
    if (file->huge) {
        file->memory[0] = 1;
        expect_huge(file->memory, around);
    } else {
        small_pages(file->memory, file->bytes);
    }
    for (uint64_t at = 0; !file->fresh && at < file->size; at++)
        file->memory[at] = file_byte(at, page);
    run->state = file;
}

/* All buffers are given back first, so that a round begins with memory that nobody has touched. */
static void read_into_new(const struct file *file, uint64_t operations, struct probe_value *value)
{
    const uint64_t count = fewer(operations, file->buffers);
    uint64_t done = 0, wall_ns = 0, right = 0, faults = 0;
    probe_start(value);
    for (; done < operations; done += count) {
        if (madvise(file->memory, file->bytes, MADV_DONTNEED) != 0)
            probe_fail("memory cannot be given back: %s", strerror(errno));
        uint64_t faults_before = minor_faults(), begin_ns = probe_now_ns();
        uint64_t moved = read_all(file, count);
        wall_ns += probe_now_ns() - begin_ns;
        uint64_t taken = minor_faults() - faults_before;
        right += taken >= 1 && (file->huge || taken >= count) ? moved : 0;
        faults += taken;
    }
    probe_stop_parts(value, done, wall_ns);
    probe_count(value, "checked", right);
    probe_count(value, "bytes", done * file->size);
    probe_count(value, "faults", faults);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct file *file = run->state;
    if (file->fresh) {
        read_into_new(file, operations, value);
        return;
    }
    uint64_t faults = minor_faults();
    probe_start(value);
    uint64_t right = file->writes ? write_all(file, operations) : read_all(file, operations);
    probe_stop(value);
    faults = minor_faults() - faults;
    uint64_t last = 0;
    if (file->writes && (pread(file->fd, &last, sizeof last, 0) != sizeof last || last != file->written))
        probe_fail("the file does not hold what was written last");
    probe_count(value, "checked", right);
    probe_count(value, "bytes", operations * file->size);
    probe_count(value, "faults", faults);
}

static void teardown(struct probe_run *run)
{
    struct file *file = run->state;
    close(file->fd);
    free(file); /* the memory goes with the process */
}

/* All bytes, and not only the last. */
static void selftest(struct probe_run *run)
{
    struct file *file;
    setup(run);
    file = run->state;
    file->memory[file->size / 2] = 0;
    if (read_all(file, 1) != 1)
        probe_fail("a read did not bring the last byte");
    for (uint64_t at = 0; at < file->size; at++)
        if (file->memory[at] != file_byte(at, page_bytes()))
            probe_fail("byte %" PRIu64 " of a read is wrong", at);
    teardown(run);
}

static const struct probe cached_probe = {
    .title = "cached file, one call",
    .question = "What does it cost to read or write a file that is in the page cache?",
    .operation = "one pread() or pwrite() of the whole file, which is open and cached",
    .source = "LEBench, read and write (Ren et al., SOSP 2019)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu,disk",
    .metrics = (const struct probe_metric[]){
        {"call", "s", "lower", "wall", "operations", "time of one call"},
        {"bandwidth", "B/s", "higher", "bytes", "wall", "bytes moved in a second"},
        {"faults_per_operation", "1", "neither", "faults", "operations", "minor faults that the kernel counted for it"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "a read into memory in use, into new memory, into new memory of huge pages; a write",
         .choices = "read,read_fresh,read_huge,write", .sweep = "read,read_fresh,read_huge,write"},
        {.name = "size", .doc = "size of the file", .unit = "B", .sweep = "4096,40960,4096000", .brief = "4096,4096000",
         .min = 8, .max = 67108864},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
    .selftest = selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&cached_probe, argc, argv);
}
