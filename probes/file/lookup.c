/* SPDX-License-Identifier: Apache-2.0
 * lookup - a file is found by its path: opened and closed, or asked for its facts, by how deep it lies.
 *
 * Known answer: each stat() gives the number of the file's inode; what was opened last is that file, and no descriptor is
 * left over.
 * Overhead: the loop, under 1 ns.  Limits: every directory of the path is in the kernel's cache of names, and nobody
 * changes one. The path is relative: one component is the file alone.
 * Assembly: open_all contains (call|bl)\s.*<open
 * Assembly: stat_all contains (call|bl)\s.*<\w*stat
 * Source: lat_syscall open and stat of lmbench (McVoy & Staelin 1996); will-it-scale open1. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe.h"

#define DEEPEST 64

struct place {
    char top[32], path[2 * DEEPEST + 2]; /* the folder that holds all; the file, from there */
    int depth;
    ino_t inode;
    bool opens;
};

static __attribute__((noinline)) uint64_t open_all(const char *path, uint64_t times)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++)
        right += close(open(path, O_RDONLY | O_CLOEXEC)) == 0;
    return right;
}

static __attribute__((noinline)) uint64_t stat_all(const struct place *place, uint64_t times)
{
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++) {
        struct stat facts;
        right += stat(place->path, &facts) == 0 && facts.st_ino == place->inode;
    }
    return right;
}

/* d/d/d/f, made from the outside in. */
static void make(struct place *place)
{
    strcpy(place->top, "steelyard-lookup-XXXXXX");
    if (!mkdtemp(place->top) || chdir(place->top) != 0)
        probe_skip("no folder can be made in the working folder: %s; start the probe in another", strerror(errno));
    for (int level = 1; level < place->depth; level++) {
        strcat(place->path, "d");
        if (mkdir(place->path, 0700) != 0)
            probe_skip("no folder can be made %d deep: %s", level, strerror(errno));
        strcat(place->path, "/");
    }
    strcat(place->path, "f");
    int fd = open(place->path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0)
        probe_skip("no file can be made in the working folder: %s", strerror(errno));
    place->inode = facts.st_ino;
    close(fd);
}

/* From the inside out. */
static void unmake(struct place *place)
{
    unlink(place->path);
    for (char *slash; (slash = strrchr(place->path, '/'));) {
        *slash = 0;
        rmdir(place->path);
    }
    if (chdir("..") != 0 || rmdir(place->top) != 0)
        probe_fail("the folder %s cannot be removed: %s", place->top, strerror(errno));
}

static void setup(struct probe_run *run)
{
    struct place *place = calloc(1, sizeof *place);
    if (!place)
        probe_fail("out of memory");
    place->depth = (int)probe_integer(run, "depth");
    place->opens = probe_is(run, "way", "open");
    make(place);
    run->state = place;
}

/* Opens the file as the timed part does: whether it is the one, under the number that was free before the batch too. */
static int descriptor_of(const struct place *place)
{
    struct stat facts;
    int fd = open(place->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) != 0 || facts.st_ino != place->inode)
        probe_fail("%s is not the file that was made", place->path);
    close(fd);
    return fd;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct place *place = run->state;
    int before = descriptor_of(place);
    probe_start(value);
    uint64_t right = place->opens ? open_all(place->path, operations) : stat_all(place, operations);
    probe_stop(value);
    probe_count(value, "checked", descriptor_of(place) == before ? right : 0);
}

static void teardown(struct probe_run *run)
{
    unmake(run->state);
    free(run->state);
}

static const struct probe lookup_probe = {
    .title = "file by its path",
    .question = "What does it cost to find a file by its path, and how does that grow with its depth?",
    .operation = "one open() and close(), or one stat(), of a file whose path is cached",
    .source = "lmbench, lat_syscall open and stat (McVoy & Staelin 1996); will-it-scale open1",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"lookup", "s", "lower", "wall", "operations", "time of one open() and close(), or of one stat()"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "opened and closed, or asked for its facts", .choices = "open,stat", .sweep = "open,stat"},
        {.name = "depth", .doc = "components of the path", .unit = "1", .sweep = "1,2,4,8,16", .brief = "1,16", .min = 1,
         .max = DEEPEST},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&lookup_probe, argc, argv);
}
