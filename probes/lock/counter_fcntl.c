/* SPDX-License-Identifier: Apache-2.0
 * counter_fcntl - 1 to 1024 contexts add to one number, each addition under a record lock of one file.
 *
 * Processes take ordinary record locks. Threads cannot: such a lock is the whole process's, so a thread is granted what
 * another thread of it already has, and two are in the section at once. Threads take open-file-description locks
 * (F_OFD_SETLKW, Linux 3.15), which belong to an opening of the file, and each has an opening of its own.
 *
 * Two system calls an addition even where nobody else is, each with new entries in the file's list of locks; whoever
 * waits sleeps at once.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns, and the C library's fcntl() around the system call.
 * Limits: the file lies in memory. Local file systems leave record locks to the same code of the kernel; those of a
 * network ask their server. There is an open file for each context: ulimit -n.
 * Assembly: count_up contains (call|bl).*<fcntl
 * Source: incr_fcntl of Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), appendix A, by way of the seed (Linux
 * IPC, 2014), which left several threads out. */
#define _GNU_SOURCE
#include "counter_file.h"

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    (void)run;
    return openings_new(contexts, processes ? F_SETLKW : F_OFD_SETLKW);
}

/* The whole file, as the seed locked it. */
static inline void change_lock(const struct mechanism *mechanism, int index, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    if (fcntl(mechanism->opening[index], mechanism->command, &whole) != 0)
        probe_fail("a record lock could not be changed: %s", strerror(errno));
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    change_lock(mechanism, index, F_WRLCK);
}

static inline void release(struct mechanism *mechanism, int index)
{
    change_lock(mechanism, index, F_UNLCK);
}

COUNTER_UNDER_LOCK(acquire, release)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "record lock, by fcntl",
        .question = "What does it cost that several contexts count together under a record lock of a file?",
        .source = "incr_fcntl of Stevens, UNIX Network Programming vol. 2 (1999); yunweiku.com thread 16364 (2014)",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go, .remove = close_openings,
    }, argc, argv);
}
