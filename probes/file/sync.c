/* SPDX-License-Identifier: Apache-2.0
 * sync - a write that is on the disk when the call returns, in a file of the folder that the probe works in.
 *
 * Known answer: the file holds what was written last, and the kernel says that none of its pages is still to be written
 * to the disk (Linux 6.5).
 * Overhead: the loop and a number that is written, about 1 ns.
 * Limits: that the disk has it, and not only its own cache or the host of a virtual machine, nobody here can tell. With
 * place=append the file grows, so its size goes to the disk too; it begins anew with each batch. TMPDIR says where the
 * lab has its folders: point it at what is to be measured.
 * Assembly: write_all contains (call|bl)\s.*<pwrite
 * Source: fsync(2), open(2) on O_DSYNC; pg_test_fsync of PostgreSQL, which compares these calls. */
#define _GNU_SOURCE
#include "pages.h"

#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

struct file {
    int fd;
    uint64_t size;
    unsigned char *memory;
    bool appends;
    int (*sync)(int fd); /* NULL where the write itself is synchronous */
    uint64_t written;    /* the number of the last write */
};

static __attribute__((noinline)) uint64_t write_all(struct file *file, uint64_t times)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++) {
        off_t at = file->appends ? (off_t)(i * file->size) : 0;
        file->written++;
        memcpy(file->memory, &file->written, sizeof file->written);
        right += pwrite(file->fd, file->memory, file->size, at) == (ssize_t)file->size &&
                 (!file->sync || file->sync(file->fd) == 0);
    }
    return right;
}

/* Pages of the file that are not on the disk yet; 0, with a caveat, where the kernel does not say. */
static uint64_t pages_left(const struct file *file)
{
    struct { uint64_t offset, bytes; } all = {0, 0};
    struct { uint64_t cached, dirty, in_writing, evicted, recently_evicted; } pages = {0};
    if (syscall(SYS_cachestat, file->fd, &all, &pages, 0) == 0)
        return pages.dirty + pages.in_writing;
    probe_caveat("this kernel does not say whether anything is still to be written (cachestat, Linux 6.5)");
    return 0;
}

static void begin_anew(const struct file *file)
{
    if (ftruncate(file->fd, file->appends ? 0 : (off_t)file->size) != 0 || fsync(file->fd) != 0)
        probe_skip("the file cannot be written to the disk: %s", strerror(errno));
}

static void setup(struct probe_run *run)
{
    struct file *file = calloc(1, sizeof *file);
    struct statfs facts;
    char path[64];
    if (!file)
        probe_fail("out of memory");
    file->size = (uint64_t)probe_integer(run, "size");
    file->appends = probe_is(run, "place", "append");
    file->sync = probe_is(run, "way", "fsync") ? fsync : probe_is(run, "way", "fdatasync") ? fdatasync : NULL;
    file->fd = file_of(file->size);
    if (fstatfs(file->fd, &facts) == 0 && (facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC))
        probe_skip("the working folder lies in memory (tmpfs) and no disk is written: point TMPDIR at a disk");
    if (!file->sync) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
        int synchronous = open(path, O_RDWR | O_DSYNC | O_CLOEXEC);
        if (synchronous < 0)
            probe_skip("the file cannot be opened for synchronous writes: %s", strerror(errno));
        close(file->fd);
        file->fd = synchronous;
    }
    file->memory = calloc(1, file->size);
    if (!file->memory)
        probe_fail("out of memory");
    begin_anew(file);
    run->state = file;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct file *file = run->state;
    uint64_t last = 0;
    if (file->appends)
        begin_anew(file);
    probe_start(value);
    uint64_t right = write_all(file, operations);
    probe_stop(value);
    off_t at = file->appends ? (off_t)((operations - 1) * file->size) : 0;
    if (pread(file->fd, &last, sizeof last, at) != sizeof last || last != file->written)
        probe_fail("the file does not hold what was written last");
    probe_count(value, "checked", pages_left(file) == 0 ? right : 0);
    probe_count(value, "bytes", operations * file->size);
}

static void teardown(struct probe_run *run)
{
    struct file *file = run->state;
    close(file->fd);
    free(file->memory);
    free(file);
}

static const struct probe sync_probe = {
    .title = "write that is on the disk",
    .question = "What does it cost to have a write on the disk?",
    .operation = "one pwrite() and the fsync() or fdatasync() after it, or one pwrite() of a file opened with O_DSYNC",
    .source = "fsync(2); PostgreSQL, pg_test_fsync",
    .statistic = "median",
    .placements = "free",
    .uses = "disk",
    .metrics = (const struct probe_metric[]){
        {"sync", "s", "lower", "wall", "operations", "time until the write is on the disk"},
        {"bandwidth", "B/s", "higher", "bytes", "wall", "bytes in a second"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "who waits for the disk", .choices = "fsync,fdatasync,dsync",
         .sweep = "fsync,fdatasync,dsync"},
        {.name = "place", .doc = "the same bytes again and again, or behind the last ones", .choices = "overwrite,append",
         .sweep = "overwrite,append"},
        {.name = "size", .doc = "bytes of a write", .unit = "B", .sweep = "4096", .min = 8, .max = 16777216},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&sync_probe, argc, argv);
}
