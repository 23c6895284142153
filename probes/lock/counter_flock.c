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

struct mechanism {
    int openings; /* one more than contexts: the probe's own */
    int opening[];
};

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    uint64_t openings = (uint64_t)contexts + 1;
    struct mechanism *mechanism = probe_share(sizeof *mechanism + openings * sizeof *mechanism->opening);
    (void)run, (void)processes;
    mechanism->openings = (int)openings;
    open_all(mechanism->openings, mechanism->opening);
    return mechanism;
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

static void close_file(struct mechanism *mechanism)
{
    close_all(mechanism->openings, mechanism->opening);
}

static const struct way way = {.create = create, .hold = acquire, .let_go = release, .remove = close_file};

static const struct probe counter_flock_probe = {
    .question = "What does it cost that several contexts count together under flock() of a file?",
    .source = "flock(2); what a test of Linux IPC (yunweiku.com thread 16364, 2014) leaves out beside fcntl",
    .uses = "cpu,sched",
    .params = (const struct probe_param[]){COUNTER_PARAMS, {0}},
    COUNTER_DESCRIPTION,
};

int main(int argc, char **argv)
{
    return probe_main(&counter_flock_probe, argc, argv);
}
