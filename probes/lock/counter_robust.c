/* SPDX-License-Identifier: Apache-2.0
 * counter_robust - 1 to 1024 contexts add to one number, each addition under one robust pthread mutex.
 *
 * If its owner dies, the next one gets the mutex all the same and is told so. For that every owner keeps a list in its
 * memory of the robust mutexes that it has, which the kernel reads when it dies: a few more stores an addition, and an
 * owner's number instead of a bit in the word, which must be loaded.
 *
 * Known answer: the number is the sum of all additions; one context never finds another's.
 * Overhead: the loop and the look at what was found, under 1 ns.
 * Limits: nobody dies here, so the repair is not in the figure.
 * Assembly: count_up contains (call|bl).*<pthread_mutex_lock
 * Source: beyond the seed (Linux IPC, 2014); pthread_mutexattr_setrobust(3), and the kernel's robust-futexes.rst. */
#include "counter_pthread_mutex.h"

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    (void)run, (void)contexts;
    return mutex_new(processes, pthread_mutexattr_setrobust, PTHREAD_MUTEX_ROBUST, "robust mutex");
}

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "robust mutex",
        .question = "What does it cost that several contexts count together under a mutex that survives its owner's "
                    "death?",
        .source = "pthread_mutexattr_setrobust(3); beyond yunweiku.com thread 16364 (2014)",
        .properties = "fair=no,readers=one by one,waiting=sleeps,owner dies=next is told",
        .uses = "cpu,sched",
        .create = create, .count = count, .hold = hold, .let_go = let_go,
    }, argc, argv);
}
