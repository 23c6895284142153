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
#include "counter_lock.h"

#include <pthread.h>
#include <string.h>

struct mechanism {
    _Alignas(PROBE_CACHE_LINE) pthread_mutex_t mutex;
};

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    struct mechanism *mechanism = probe_share(sizeof *mechanism);
    pthread_mutexattr_t attributes;
    (void)run, (void)contexts;
    pthread_mutexattr_init(&attributes);
    if (processes && pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0)
        probe_skip("no mutex between processes");
    int error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (!error)
        error = pthread_mutex_init(&mechanism->mutex, &attributes);
    if (error)
        probe_skip("no robust mutex: %s", strerror(error));
    return mechanism;
}

static inline void acquire(struct mechanism *mechanism, int index)
{
    int error = pthread_mutex_lock(&mechanism->mutex);
    if (error)
        probe_fail("context %d did not get the robust mutex: %s", index, strerror(error));
}

static inline void release(struct mechanism *mechanism, int index)
{
    (void)index;
    pthread_mutex_unlock(&mechanism->mutex);
}

static const struct way way = {.create = create, .hold = acquire, .let_go = release};

static const struct probe counter_robust_probe = {
    .question = "What does it cost that several contexts count together under a mutex that survives its owner's death?",
    .source = "pthread_mutexattr_setrobust(3); beyond yunweiku.com thread 16364 (2014)",
    .uses = "cpu,sched",
    .params = (const struct probe_param[]){COUNTER_PARAMS, {0}},
    COUNTER_DESCRIPTION,
};

int main(int argc, char **argv)
{
    return probe_main(&counter_robust_probe, argc, argv);
}
