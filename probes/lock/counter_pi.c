/* SPDX-License-Identifier: Apache-2.0
 * counter_pi - 1 to 1024 contexts add to one number, each addition under one mutex that inherits priority.
 *
 * Free, it is taken like any other. Once somebody waits, the kernel keeps the queue and must know the owner, to lend it
 * the priority of the most urgent waiter: the word holds the owner's number, and giving it back is a system call that
 * hands it to the first in the queue. Like the System V semaphore it then changes hands with every addition.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: all contexts have the same priority, so nothing is ever lent: this is the price of being ready to.
 * Assembly: count_up contains (call|bl).*<pthread_mutex_lock
 * Source: beyond the seed (Linux IPC, 2014); pthread_mutexattr_setprotocol(3), and the kernel's pi-futex.rst. */
#include "counter_pthread_mutex.h"

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    (void)run, (void)contexts;
    return mutex_new(processes, pthread_mutexattr_setprotocol, PTHREAD_PRIO_INHERIT,
                     "mutex that inherits priority, for which the kernel needs CONFIG_FUTEX_PI");
}

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "mutex with priority inheritance",
        .question = "What does it cost that several contexts count together under a mutex that inherits priority?",
        .source = "pthread_mutexattr_setprotocol(3); beyond yunweiku.com thread 16364 (2014)",
        .properties = "fair=by priority,readers=one by one,waiting=sleeps,owner dies=stays locked",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go,
    }, argc, argv);
}
