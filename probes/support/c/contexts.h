/* SPDX-License-Identifier: Apache-2.0
 * contexts.h - the same body run by N threads or by N processes; what switch/ and lock/ probes compare.
 *
 * Process contexts die with the probe (PR_SET_PDEATHSIG); thread contexts have 64 KiB stacks so that tens of
 * thousands fit. What the contexts share must lie in probe_share() memory. */
#ifndef STEELYARD_CONTEXTS_H
#define STEELYARD_CONTEXTS_H

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "probe.h"

struct contexts;

typedef void context_body(struct probe_run *run, int index, void *shared);

/* Start contexts number first … first+count-1, each placed by its number (probe_place) before the body runs, and
 * register them with the run, so that the CPU time of live processes counts in each value.
 * Skips the run (exit 77, with the limit that was hit) when the machine does not allow that many. */
struct contexts *contexts_start(struct probe_run *run, bool processes, int first, int count, context_body *body,
                                void *shared);
/* Wait for all bodies to return; a context that died by a signal or a failure fails the probe. Frees `contexts`. */
void contexts_join(struct probe_run *run, struct contexts *contexts);

/* CPU time that live process contexts have used so far, less what the earlier calls took of the caller's own: with
 * thousands of processes that is milliseconds, and between two calls it would pass for theirs. May wrap; only the
 * difference of two calls means anything. Of more than 512 processes it is an estimate, with a caveat, from 512 or
 * fewer of them, which supposes that all do the same. 0 for threads (the process's own rusage has theirs). */
uint64_t contexts_cpu_ns(const struct contexts *contexts);

/* The live processes, to attach something to each; none of threads, and none of NULL. */
int contexts_processes(const struct contexts *contexts);
pid_t contexts_process(const struct contexts *contexts, int index);

/* How often the calling thread was switched away from: because it waited, or although it was ready to go on. */
struct switches { uint64_t voluntary, involuntary; };
struct switches thread_switches(void);
int thread_cpu(void); /* the number of the CPU that the calling thread is on, which may change at once */
/* Whether two contexts can be on two CPUs at the same time: with `free` they may be. */
static inline bool contexts_may_be_apart(const struct probe_run *run)
{
    return run->placement != PROBE_SAME && run->cpus > 1;
}
/* How many CPUs there are among these, which several contexts have read by thread_cpu(). */
uint64_t cpus_among(const int *cpu, int count);

/* Declaration of the usual parameter, for the list of a probe. */
#define CONTEXTS_KIND_PARAM(default_sweep) \
    {.name = "kind", .doc = "what a context is", .choices = "thread,process", .sweep = default_sweep}

/* Continuous running. Contexts that were started and stopped a batch would make the waking of sleepers the subject;
 * so they run from the first batch to the last, and a batch is two readings of what each has counted.
 *
 * What one context has counted so far, written by that context alone, in a line of its own. */
struct tally {
    _Alignas(PROBE_CACHE_LINE) volatile uint64_t operations;
    volatile uint64_t switches, failures; /* for those probes that have them */
};
uint64_t tally_operations(const struct tally *tally, int contexts); /* the sum */

/* A timekeeper for contexts that may keep the CPU for whole time slices: were it one of them, a batch would last until
 * its turn came again, seconds later. So it stays outside and sleeps until done() is `enough`, waking a few times to
 * estimate when. Before the gate opens the caller becomes one by asking for the shortest time slice: that is an earlier
 * deadline, and it runs soon after it wakes, not after a round of all. Kernels before 6.12 do not know the request, and
 * batches are longer there. */
void timekeeper_become(void);
void timekeeper_sleep(uint64_t (*done)(const void *shared), const void *shared, uint64_t enough);

/* Where contexts sleep until all have arrived: one that is started while others already run would have to be created
 * against them, for seconds when they are thousands. `stop` is what they look at while they run. Shared, zeroed. */
struct gate {
    _Alignas(PROBE_CACHE_LINE) uint32_t arrived;
    _Alignas(PROBE_CACHE_LINE) uint32_t open;
    _Alignas(PROBE_CACHE_LINE) volatile bool stop;
};
void gate_pass(struct gate *gate);            /* a context: arrive and sleep until the gate opens */
void gate_open(struct gate *gate, int count); /* the one who started them: wait until `count` arrived, let them go */

/* The raw futex. `scope` is 0 between processes and FUTEX_PRIVATE_FLAG between threads, as in the C library's locks:
 * a private futex is found by its address alone and so is cheaper. */
static inline int futex_scope(bool processes)
{
    return processes ? 0 : FUTEX_PRIVATE_FLAG;
}
/* May return early (signal, value already changed): call it in a loop that looks at the word. */
static inline void futex_wait(const uint32_t *word, uint32_t expected, int scope)
{
    syscall(SYS_futex, word, FUTEX_WAIT | scope, expected, NULL, NULL, 0);
}
static inline void futex_wake(const uint32_t *word, int sleepers, int scope)
{
    syscall(SYS_futex, word, FUTEX_WAKE | scope, sleepers, NULL, NULL, 0);
}

/* Which context ran last on each CPU: tells, exactly and for a nanosecond, whether a yield really switched between
 * two of ours. One line a CPU, written by that CPU alone. */
struct last_ran { _Alignas(PROBE_CACHE_LINE) volatile int context; };
struct last_ran *last_ran_new(void);
/* True if another of our contexts ran on this CPU since `index` last did; notes that `index` runs now. */
bool last_ran_switched(struct last_ran *last_ran, int index);

#endif
