/* SPDX-License-Identifier: Apache-2.0
 * counter_mutex - 1 to 1024 contexts add to one number, each addition under one pthread mutex.
 *
 * Free, the mutex is taken and given back by an atomic step each and no system call. Held, it sends the loser to sleep,
 * and whoever gives it back wakes one of them and has mostly taken it again before that one runs. So with more contexts
 * it gets dearer by the system calls of those who wait, while hardly any addition changes the owner; switched_fraction
 * and changed_fraction say how many did.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: between processes it is a shared futex, between threads a private one, which only differ where they wait.
 * Assembly: count_up contains (call|bl).*<pthread_mutex_lock
 * Source: incr_pxmutex1 (threads) and incr_pxmutex5 (processes) of Stevens, UNIX Network Programming vol. 2 (2nd ed.,
 * 1999), appendix A, by way of the seed (Linux IPC, 2014). */
#include "counter_pthread_mutex.h"

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    (void)run, (void)contexts;
    return mutex_new(processes, pthread_mutexattr_settype, PTHREAD_MUTEX_DEFAULT, "mutex");
}

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "mutex",
        .question = "What does it cost that several contexts count together under a mutex?",
        .source = "incr_pxmutex of Stevens, UNIX Network Programming vol. 2 (1999); yunweiku.com thread 16364 (2014)",
        .properties = "fair=no,readers=one by one,waiting=sleeps,owner dies=stays locked",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go,
    }, argc, argv);
}
