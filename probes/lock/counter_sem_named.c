/* SPDX-License-Identifier: Apache-2.0
 * counter_sem_named - 1 to 1024 contexts add to one number, each addition between wait and post of a named semaphore.
 *
 * A name is for finding it: once open it is the unnamed semaphore in a file that is mapped, by the same code. What the
 * two differ by is layout and noise, and between threads that this one's futex is always a shared one.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: needs /dev/shm. The name is taken away at once and the contexts inherit the mapping; opening is not timed.
 * Assembly: count_up contains (call|bl).*<sem_wait
 * Source: incr_pxsem (named) of Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), appendix A; the seed
 * (Linux IPC, 2014). */
#include "counter.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string.h>
#include <sys/stat.h>

struct mechanism {
    sem_t *semaphore; /* where the C library mapped it: at the same place in every context */
};

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism);
    char name[PROBE_IPC_NAME_BYTES];
    (void)run, (void)contexts, (void)processes;
    probe_ipc_name(name, 4);
    sem_unlink(name); /* of a killed run of the same name (names.h) */
    mechanism->semaphore = sem_open(name, O_CREAT | O_EXCL, S_IRUSR | S_IWUSR, 1);
    if (mechanism->semaphore == SEM_FAILED)
        probe_skip("no named semaphore: %s; it needs a writable /dev/shm", strerror(errno));
    sem_unlink(name);
    return mechanism;
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    (void)index;
    sem_wait(mechanism->semaphore);
}

static inline void release(struct mechanism *mechanism, int index)
{
    (void)index;
    sem_post(mechanism->semaphore);
}

static void close_semaphore(struct mechanism *mechanism)
{
    sem_close(mechanism->semaphore);
}

COUNTER_UNDER_LOCK(acquire, release)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "named semaphore",
        .question = "What does it cost that several contexts count together under a named POSIX semaphore?",
        .source = "incr_pxsem of Stevens, UNIX Network Programming vol. 2 (1999); yunweiku.com thread 16364 (2014)",
        .uses = "cpu,sched,ipc",
        .create = create, .count = count, .hold = hold, .let_go = let_go, .remove = close_semaphore,
    }, argc, argv);
}
