/* SPDX-License-Identifier: Apache-2.0
 * open - 1 to N contexts open a cached file and close it, each its own, or all the same one.
 *
 * Known answer: each descriptor is one, and closes.  Overhead: the loop and a count, under 1 ns.
 * Limits: all files lie in one folder, whose entry each open() passes. Threads share the table of descriptors.
 * Assembly: go_on contains (call|bl)\s.*<open
 * Source: open1 and open3 of will-it-scale (Blanchard 2010). */
#define _GNU_SOURCE
#include "scale.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

struct work {
    char path[64]; /* of two components */
    bool owner;    /* who removes the file */
};

static char folder[] = "steelyard-open-XXXXXX";

static void begin(struct probe_run *run, int contexts)
{
    (void)run, (void)contexts;
    if (!mkdtemp(folder))
        probe_skip("no folder can be made in the working folder: %s; start the probe in another", strerror(errno));
}

static void make(struct probe_run *run, struct work *work, int index)
{
    bool own = probe_is(run, "file", "own");
    work->owner = own || index == 0;
    snprintf(work->path, sizeof work->path, "%s/%d", folder, own ? index : 0);
    int fd = open(work->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        probe_skip("no file can be made in the working folder: %s", strerror(errno));
    close(fd);
}

static inline bool step(const struct work *work)
{
    return close(open(work->path, O_RDWR)) == 0;
}

SCALE_LOOP(step)

static void unmake(struct work *work)
{
    if (work->owner)
        unlink(work->path);
    rmdir(folder); /* which the last one finds empty */
}

int main(int argc, char **argv)
{
    return scale_main(&(const struct way){
        .title = "open and close, by many",
        .question = "Do several CPUs open several times as many files as one?",
        .operation = "one open() and close() of a file whose path is cached",
        .source = "will-it-scale open1 (own) and open3 (same) (Blanchard 2010)",
        .params = (const struct probe_param[]){
            {.name = "file", .doc = "each context opens its own file, or all the same", .choices = "own,same",
             .sweep = "own,same"},
            {0}},
        .work_bytes = sizeof(struct work), .begin = begin, .make = make, .go_on = go_on, .unmake = unmake,
    }, argc, argv);
}
