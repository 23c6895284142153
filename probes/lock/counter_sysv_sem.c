/* SPDX-License-Identifier: Apache-2.0
 * counter_sysv_sem - 1 to 1024 contexts add to one number, each addition between two semop() of a System V semaphore.
 *
 * The seed found it over a hundred times slower than the rest, suspected its machine, kernel or code, and left it out.
 * It is the semaphore, for two reasons:
 * - It has no part in user space. Even alone each addition is two system calls, where the others make none: where one
 *   takes 0.4 us that is a hundred mutexes.
 * - It is handed over. Who raises the value finishes the operation of the longest waiter on its behalf: that one owns
 *   the semaphore before it has woken up. So who raised it sleeps at its next step, and every addition is a switch, or
 *   the waking of another CPU: microseconds. A mutex is taken again by whoever just gave it back, and costs little
 *   because it hardly ever changes hands. changed_fraction shows both: near 1 here, near 0 there.
 *
 * SEM_UNDO (undo=yes) has the kernel keep for each process what to give back when it dies: a look-up and a sum in each
 * step, and between threads, who share that list, one more lock. Only with it does the death of an owner not stop all
 * others for ever; counter_robust is what a mutex has for that.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's; with 5 nearly every addition
 * changes the owner. Two on one CPU can keep out of each other's way: who is woken runs before the other can queue up.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: a semaphore outlives its users; the key is the run's own, and the launcher removes what a killed run leaves.
 * Assembly: count_up contains (call|bl).*<semop
 * Source: incr_svsem with and without SEM_UNDO of Stevens, UNIX Network Programming vol. 2 (2nd ed., 1999), appendix A;
 * left out of the seed (Linux IPC, 2014). For the handing over: ipc/sem.c of Linux, do_smart_update(). */
#include "counter.h"
#include "names.h"

#include <errno.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>

struct mechanism {
    int id;
    short undo; /* SEM_UNDO or 0 */
};

/* The name is glibc's manual's; it leaves the declaration to the caller. */
union semun {
    int val;
    struct semid_ds *buf;
    unsigned short *array;
};

/* What a killed run of the same name left (names.h). */
static void remove_if_there(key_t key)
{
    int id = semget(key, 1, 0);
    if (id >= 0)
        semctl(id, 0, IPC_RMID);
}

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism);
    (void)contexts, (void)processes;
    mechanism->undo = probe_is(run, "undo", "yes") ? SEM_UNDO : 0;
    remove_if_there(probe_ipc_key(4));
    mechanism->id = semget(probe_ipc_key(4), 1, IPC_CREAT | IPC_EXCL | 0600);
    if (mechanism->id < 0)
        probe_skip("no System V semaphore: %s; see sysctl kernel.sem, whose fourth number is how many there may be",
                   strerror(errno));
    if (semctl(mechanism->id, 0, SETVAL, (union semun){.val = 1}) != 0)
        probe_fail("a new semaphore could not be set: %s", strerror(errno));
    return mechanism;
}

static inline void change_value(const struct mechanism *mechanism, short by)
{
    struct sembuf step = {.sem_op = by, .sem_flg = mechanism->undo};
    if (semop(mechanism->id, &step, 1) != 0)
        probe_fail("semop failed: %s", strerror(errno));
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    (void)index;
    change_value(mechanism, -1);
}

static inline void release(struct mechanism *mechanism, int index)
{
    (void)index;
    change_value(mechanism, +1);
}

static void remove_semaphore(struct mechanism *mechanism)
{
    semctl(mechanism->id, 0, IPC_RMID);
}

COUNTER_UNDER_LOCK(acquire, release)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "System V semaphore",
        .question = "What does it cost that several contexts count together under a System V semaphore, and why so "
                    "much?",
        .source = "incr_svsem of Stevens, UNIX Network Programming vol. 2 (1999); yunweiku.com thread 16364 (2014)",
        .uses = "cpu,sched,ipc",
        .param = {.name = "undo", .doc = "whether the kernel takes back what a context did when it dies (SEM_UNDO)",
                  .choices = "no,yes", .sweep = "no,yes", .brief = "no"},
        .create = create, .count = count, .hold = hold, .let_go = let_go, .remove = remove_semaphore,
    }, argc, argv);
}
