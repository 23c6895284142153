/* SPDX-License-Identifier: Apache-2.0
 * parked.h - threads or processes that sleep on a futex and are all woken once a batch, for thread.c and process.c. */
#ifndef STEELYARD_MEMORY_PARKED_H
#define STEELYARD_MEMORY_PARKED_H

#include <limits.h>
#include <stdlib.h>

#include "contexts.h"
#include "memory.h"

struct parked {
    _Alignas(PROBE_CACHE_LINE) uint32_t round; /* what all sleep on */
    _Alignas(PROBE_CACHE_LINE) uint32_t arrived;
    _Alignas(PROBE_CACHE_LINE) uint32_t complete; /* the last to arrive in a round notes it here */
    uint32_t count;
    int scope;
    volatile bool stop;
    struct memory before;
    struct contexts *contexts;
    volatile int pid[]; /* of each context that is a process */
};

static void park(struct probe_run *run, int index, void *shared)
{
    struct parked *parked = shared;
    (void)run;
    parked->pid[index] = getpid();
    for (uint32_t round = 0;; round++) {
        if (__atomic_add_fetch(&parked->arrived, 1, __ATOMIC_SEQ_CST) == parked->count) {
            __atomic_store_n(&parked->complete, round + 1, __ATOMIC_SEQ_CST);
            futex_wake(&parked->complete, 1, parked->scope);
        }
        while (__atomic_load_n(&parked->round, __ATOMIC_SEQ_CST) == round)
            futex_wait(&parked->round, round, parked->scope);
        if (parked->stop)
            return;
    }
}

static void await_round(struct parked *parked, uint32_t round)
{
    uint32_t complete;
    while ((complete = __atomic_load_n(&parked->complete, __ATOMIC_SEQ_CST)) != round)
        futex_wait(&parked->complete, complete, parked->scope);
}

static struct parked *park_all(struct probe_run *run, bool processes)
{
    int count = (int)probe_integer(run, "contexts");
    struct parked *parked = probe_share(sizeof *parked + (uint64_t)count * sizeof *parked->pid);
    parked->count = (uint32_t)count;
    parked->scope = futex_scope(processes);
    parked->before = memory_now();
    run->state = parked;
    parked->contexts = contexts_start(run, processes, 0, count, park, parked);
    await_round(parked, 1);
    return parked;
}

/* Wakes all; returns how many have arrived to sleep again. */
static __attribute__((noinline)) uint32_t wake_all(struct parked *parked)
{
    uint32_t round = parked->round + 1;
    __atomic_store_n(&parked->arrived, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&parked->round, round, __ATOMIC_SEQ_CST);
    futex_wake(&parked->round, INT_MAX, parked->scope);
    await_round(parked, round + 1);
    return __atomic_load_n(&parked->arrived, __ATOMIC_SEQ_CST);
}

static void parked_teardown(struct probe_run *run)
{
    struct parked *parked = run->state;
    parked->stop = true;
    __atomic_add_fetch(&parked->round, 1, __ATOMIC_SEQ_CST);
    futex_wake(&parked->round, INT_MAX, parked->scope);
    contexts_join(run, parked->contexts);
}

#endif
