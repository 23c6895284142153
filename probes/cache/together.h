/* SPDX-License-Identifier: Apache-2.0
 * together.h - threads that do their parts of a batch at the same time: what they do to each other's cache lines.
 *
 * The threads live from setup to teardown; the probe's own is number 0 and does its part as well. A batch runs from the
 * common start to the end of the last. Nobody sleeps meanwhile, so that waking is in no figure. */
#ifndef STEELYARD_CACHE_TOGETHER_H
#define STEELYARD_CACHE_TOGETHER_H

#include "contexts.h"

#include <sched.h>

#define MOST_THREADS 64

/* Of the probe: `operations` of thread number `index`, in a loop of its own. Returns how many are proven. */
typedef uint64_t part_function(void *shared, int index, uint64_t operations);

struct together {
    int threads;
    part_function *do_part;
    void *shared;
    struct contexts *others;
    uint64_t operations; /* of the batch, of all threads */
    bool over;
    _Alignas(PROBE_CACHE_LINE) uint32_t begun; /* number of the batch */
    _Alignas(PROBE_CACHE_LINE) uint32_t ready;
    _Alignas(PROBE_CACHE_LINE) uint32_t finished;
    _Alignas(PROBE_CACHE_LINE) uint64_t proven;
};

static inline void look_again(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static inline uint64_t part_of(const struct together *together, int index)
{
    uint64_t threads = (uint64_t)together->threads;
    return together->operations / threads + ((uint64_t)index < together->operations % threads);
}

static void wait_until(const uint32_t *word, uint32_t wanted)
{
    for (unsigned looks = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != wanted; looks++)
        if (looks % 1024)
            look_again();
        else
            sched_yield(); /* on one CPU the others must come to run */
}

static void together_body(struct probe_run *run, int index, void *argument)
{
    struct together *together = argument;
    (void)run;
    for (uint32_t batch = 1;; batch++) {
        __atomic_add_fetch(&together->ready, 1, __ATOMIC_RELEASE);
        wait_until(&together->begun, batch);
        if (together->over)
            return;
        uint64_t proven = together->do_part(together->shared, index, part_of(together, index));
        __atomic_add_fetch(&together->proven, proven, __ATOMIC_RELAXED);
        __atomic_add_fetch(&together->finished, 1, __ATOMIC_RELEASE);
    }
}

static struct together *together_new(struct probe_run *run, int threads, part_function *do_part, void *shared)
{
    struct together *together = probe_share(sizeof *together);
    together->threads = threads;
    together->do_part = do_part;
    together->shared = shared;
    together->others = contexts_start(run, false, 1, threads - 1, together_body, together);
    return together;
}

/* One batch, timed. Reports how many operations are proven by what the threads saw. `lanes` of the value become the
 * CPUs that worked. */
static uint64_t together_run(const struct probe_run *run, struct together *together, uint64_t operations,
                             struct probe_value *value)
{
    together->operations = operations;
    together->proven = together->finished = 0;
    wait_until(&together->ready, (uint32_t)together->threads - 1);
    together->ready = 0;
    value->lanes = (uint32_t)(together->threads < run->cpus ? together->threads : run->cpus);
    probe_start(value);
    __atomic_add_fetch(&together->begun, 1, __ATOMIC_RELEASE); /* pairs with the load in wait_until */
    uint64_t proven = together->do_part(together->shared, 0, part_of(together, 0));
    wait_until(&together->finished, (uint32_t)together->threads - 1);
    probe_stop(value);
    return proven + together->proven;
}

static void together_end(struct probe_run *run, struct together *together)
{
    wait_until(&together->ready, (uint32_t)together->threads - 1);
    together->over = true;
    __atomic_add_fetch(&together->begun, 1, __ATOMIC_RELEASE);
    contexts_join(run, together->others);
}

#endif
