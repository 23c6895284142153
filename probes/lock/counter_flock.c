/* SPDX-License-Identifier: Apache-2.0
 * counter_flock - 1 to 1024 contexts add to one number, each addition under flock() of one file.
 *
 * The lock belongs to an opening of the file, in BSD's way, so that threads and processes can take it alike as long as
 * each has an opening of its own; a descriptor that was inherited or dup()ed is the same owner and would be let in.
 * It knows no ranges and looks for no deadlock, which is what a record lock is dearer by.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: the file lies in memory; file systems of a network may turn the lock into a record lock at their server.
 * There is an open file for each context: ulimit -n.
 * Assembly: count_up contains (call|bl).*<flock
 * Source: the way that the seed (Linux IPC, 2014) left out beside fcntl; flock(2). */
#define _GNU_SOURCE
#include "counter_file.h"

#include <sys/file.h>

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    (void)run, (void)processes;
    return openings_new(contexts, 0);
}

static inline void change_lock(const struct mechanism *mechanism, int index, int operation)
{
    if (flock(mechanism->opening[index], operation) != 0)
        probe_fail("the file could not be locked or unlocked: %s", strerror(errno));
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    change_lock(mechanism, index, LOCK_EX);
}

static inline void release(struct mechanism *mechanism, int index)
{
    change_lock(mechanism, index, LOCK_UN);
}

COUNTER_UNDER_LOCK(acquire, release)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "file lock, by flock",
        .question = "What does it cost that several contexts count together under flock() of a file?",
        .source = "flock(2); what a test of Linux IPC (yunweiku.com thread 16364, 2014) leaves out beside fcntl",
        .properties = "fair=no,readers=together,waiting=sleeps,owner dies=given back",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go, .remove = close_openings,
    }, argc, argv);
}
