/* SPDX-License-Identifier: Apache-2.0
 * counter_sem_unnamed - 1 to 1024 contexts add to one number, each addition between wait and post of a semaphore in
 * shared memory.
 *
 * It is no mutex with a condition variable, as the seed takes it to be, but a value that goes down and up by an atomic
 * step each, and a futex for those who find it zero. A post makes it free for anyone, so that the poster often has it
 * again before the woken one runs. But as long as that one has not run it counts as waiting, and every post makes a
 * system call to wake it once more: dearer than the mutex, whose word forgets the waiter, without a switch more.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: between threads its futex is a private one; the named semaphore's is always shared.
 * Assembly: count_up contains (call|bl).*<sem_wait
 * Source: incr_pxsem (memory based) of Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), appendix A; the
 * seed (Linux IPC, 2014). */
#include "counter.h"

#include <semaphore.h>

struct mechanism {
    _Alignas(PROBE_CACHE_LINE) sem_t semaphore;
};

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism);
    (void)run, (void)contexts;
    if (sem_init(&mechanism->semaphore, processes, 1) != 0)
        probe_skip("no semaphore between processes");
    return mechanism;
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    (void)index;
    sem_wait(&mechanism->semaphore);
}

static inline void release(struct mechanism *mechanism, int index)
{
    (void)index;
    sem_post(&mechanism->semaphore);
}

COUNTER_UNDER_LOCK(acquire, release)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "unnamed semaphore",
        .question = "What does it cost that several contexts count together under a POSIX semaphore in shared memory?",
        .source = "incr_pxsem of Stevens, UNIX Network Programming vol. 2 (1999); yunweiku.com thread 16364 (2014)",
        .properties = "fair=no,readers=one by one,waiting=sleeps,owner dies=stays locked",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go,
    }, argc, argv);
}
