/* SPDX-License-Identifier: Apache-2.0
 * counter_file.h - one file opened once for each context and the probe: what locks that belong to an opening need.
 *
 * The file lies in memory and has no name, so that nothing is left behind. Everything is opened before the contexts
 * start; those that are processes inherit it. */
#ifndef STEELYARD_LOCK_COUNTER_FILE_H
#define STEELYARD_LOCK_COUNTER_FILE_H

#include "counter_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* A further open of the same file; dup() would only give another number for the same opening. */
static int open_again(int file)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return open(path, O_RDWR | O_CLOEXEC);
}

static void open_all(int openings, int opening[])
{
    int file = memfd_create("counter", MFD_CLOEXEC);
    if (file < 0)
        probe_skip("no file in memory: %s", strerror(errno));
    for (int i = 0; i < openings; i++) {
        opening[i] = open_again(file);
        if (opening[i] < 0)
            probe_skip("a file could be opened %d of %d times: %s; see ulimit -n, and whether /proc is there", i,
                       openings, strerror(errno));
    }
    close(file);
}

static void close_all(int openings, const int opening[])
{
    for (int i = 0; i < openings; i++)
        close(opening[i]);
}

#endif
