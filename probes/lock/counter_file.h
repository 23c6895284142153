/* SPDX-License-Identifier: Apache-2.0
 * counter_file.h - one file opened once for each context and the probe: what locks that belong to an opening need.
 *
 * The file lies in memory and has no name, so that nothing is left behind. Everything is opened before the contexts
 * start; those that are processes inherit it. */
#ifndef STEELYARD_LOCK_COUNTER_FILE_H
#define STEELYARD_LOCK_COUNTER_FILE_H

#include "counter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct mechanism {
    int openings; /* one more than contexts: the probe's own */
    int command;  /* of fcntl(): F_SETLKW or F_OFD_SETLKW */
    int opening[];
};

/* A further open of the same file; dup() would only give another number for the same opening. */
static int open_again(int file)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return open(path, O_RDWR | O_CLOEXEC);
}

static struct mechanism *openings_new(int contexts, int command)
{
    int openings = contexts + 1, file = memfd_create("counter", MFD_CLOEXEC);
    if (file < 0)
        probe_skip("no file in memory: %s", strerror(errno));
    struct mechanism *mechanism = probe_share(sizeof *mechanism + (uint64_t)openings * sizeof *mechanism->opening);
    mechanism->openings = openings;
    mechanism->command = command;
    for (int i = 0; i < openings; i++) {
        mechanism->opening[i] = open_again(file);
        if (mechanism->opening[i] < 0)
            probe_skip("a file could be opened %d of %d times: %s; see ulimit -n, and whether /proc is there", i,
                       openings, strerror(errno));
    }
    close(file);
    return mechanism;
}

static void close_openings(struct mechanism *mechanism)
{
    for (int i = 0; i < mechanism->openings; i++)
        close(mechanism->opening[i]);
}

#endif
