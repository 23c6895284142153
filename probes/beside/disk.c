/* SPDX-License-Identifier: Apache-2.0
 * disk - a piece of a file is written and has to be on the disk before the next one: a neighbour that waits for the disk.
 *
 * The file lies in the working folder (TMPDIR of a run) and has PIECES pieces that are overwritten in turn, so that it does not
 * grow and the file system has nothing to allocate after the first round.
 *
 * Known answer: after each batch the piece that was written last is read back and has the last number in its first word.
 * Overhead: storing that number.
 * Limits: where the folder lies on tmpfs nothing is written at all, and the probe is skipped; a disk of a virtual machine,
 * or one with a battery behind its cache, says that data are safe before they are on the medium.
 * Assembly: write_all contains (call|bl).*<fdatasync
 * Source: fdatasync(2); the synchronous writes of fio (ioengine=sync, fdatasync=1). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "probe.h"

#define PIECES 16

struct written {
    int fd;
    uint64_t size, number; /* bytes of a piece; of the last one */
    unsigned char *piece;
};

static off_t place_of(const struct written *file)
{
    return (off_t)(file->number % PIECES * file->size);
}

/* Returns how many pieces were written and synced. */
static __attribute__((noinline)) uint64_t write_all(struct written *file, uint64_t operations)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < operations; i++) {
        file->number++;
        memcpy(file->piece, &file->number, sizeof file->number);
        ssize_t bytes = pwrite(file->fd, file->piece, file->size, place_of(file));
        done += bytes == (ssize_t)file->size && fdatasync(file->fd) == 0;
    }
    return done;
}

static void setup(struct probe_run *run)
{
    static const char name[] = "steelyard-beside-disk";
    static struct written file;
    struct statfs system;
    file.size = (uint64_t)probe_integer(run, "size");
    file.piece = calloc(1, file.size);
    file.fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (!file.piece)
        probe_fail("out of memory");
    if (file.fd < 0)
        probe_skip("no file can be made in the working folder: %s; start the probe in another", strerror(errno));
    unlink(name); /* nothing is left of it, however this process ends */
    if (fstatfs(file.fd, &system) == 0 && system.f_type == TMPFS_MAGIC)
        probe_skip("the working folder lies in memory (tmpfs): set TMPDIR to a folder on a disk");
    if (write_all(&file, PIECES) != PIECES)
        probe_skip("a file cannot be written in the working folder: %s", strerror(errno));
    run->state = &file;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct written *file = run->state;
    uint64_t last = 0;
    probe_start(value);
    uint64_t done = write_all(file, operations);
    probe_stop(value);
    if (pread(file->fd, &last, sizeof last, place_of(file)) != sizeof last || last != file->number)
        probe_fail("the file does not hold what was written last");
    probe_count(value, "checked", done);
    probe_count(value, "bytes", done * file->size);
}

static void teardown(struct probe_run *run)
{
    struct written *file = run->state;
    close(file->fd);
    free(file->piece);
}

static const struct probe disk_probe = {
    .title = "synced write",
    .question = "How long does it take until a piece of a file is on the disk?",
    .operation = "one pwrite() of `size` bytes over old ones and one fdatasync()",
    .source = "fdatasync(2); fio, ioengine=sync with fdatasync=1",
    .statistic = "median",
    .placements = "same",
    .uses = "cpu,disk",
    .metrics = (const struct probe_metric[]){
        {"synced_write", "s", "lower", "wall", "operations", "time until one piece is on the disk"},
        {"bandwidth", "B/s", "higher", "bytes", "wall", "bytes that reach the disk in a second"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "size", .doc = "bytes that are written at a time", .unit = "B", .sweep = "4096,65536", .brief = "4096",
         .min = 8, .max = 4194304},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&disk_probe, argc, argv);
}
