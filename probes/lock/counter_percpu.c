/* SPDX-License-Identifier: Apache-2.0
 * counter_percpu - 1 to 1024 contexts count without sharing, and add it all up at the end: the floor of this family.
 *
 * slot=context: each adds to a line of its own by a plain addition, and the cost of an addition falls with every CPU.
 * slot=cpu: each adds to the line of the CPU that it runs on, as kernels and allocators do for many contexts. It may
 * be moved between the look and the addition, so that one is atomic; but it hardly ever has to wait for the line.
 * At its end each adds what it finds to the shared number, and that is timed.
 *
 * Known answer: the number is the sum of all additions; with slot=context none follows another's.
 * Overhead: with slot=context the loop and the look at what was found are most of it.
 * Limits: a reader would have to sum all lines, and finds a number that is already old: it is only cheap to write. With
 * slot=cpu changed_fraction counts as well whoever was moved to another line.
 * Assembly: count_up contains lock xadd|ldadd|ldaxr|<__aarch64_ldadd8
 * Source: beyond the seed (Linux IPC, 2014); McKenney, Is Parallel Programming Hard?, chapter "Counting". */
#define _GNU_SOURCE
#include "counter.h"

struct slot {
    _Alignas(PROBE_CACHE_LINE) shared_number number;
};

struct mechanism {
    bool by_cpu;
    int slots;
    struct slot slot[];
};

static struct mechanism *create(const struct probe_run *run, int contexts, bool processes)
{
    bool by_cpu = probe_is(run, "slot", "cpu");
    int slots = by_cpu ? PROBE_MAX_CPUS : contexts;
    struct mechanism *mechanism = probe_share(sizeof *mechanism + (uint64_t)slots * sizeof *mechanism->slot);
    (void)processes;
    mechanism->by_cpu = by_cpu;
    mechanism->slots = slots;
    return mechanism;
}

static inline uint64_t increment(struct mechanism *mechanism, int index, shared_number *number)
{
    (void)number;
    if (!mechanism->by_cpu)
        return add_one(&mechanism->slot[index].number);
    return __atomic_fetch_add(&mechanism->slot[(unsigned)sched_getcpu() % PROBE_MAX_CPUS].number, 1, __ATOMIC_RELAXED);
}

static void move(struct slot *slot, shared_number *number)
{
    if (slot->number)
        __atomic_fetch_add(number, __atomic_exchange_n(&slot->number, 0, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/* What others still add to a CPU's slot they find there when they end. */
static void settle(struct mechanism *mechanism, int index, shared_number *number)
{
    if (!mechanism->by_cpu)
        move(&mechanism->slot[index], number);
    for (int i = 0; mechanism->by_cpu && i < mechanism->slots; i++)
        move(&mechanism->slot[i], number);
}

COUNTER_WITHOUT_LOCK(increment)

int main(int argc, char **argv)
{
    return counter_main(&(const struct way){
        .title = "separate counts, no lock",
        .question = "What is the least that it can cost that several contexts count together?",
        .source = "McKenney, Is Parallel Programming Hard, And, If So, What Can You Do About It?, chapter Counting",
        .uses = "cpu,sched",
        .param = {.name = "slot", .doc = "whose line an addition goes to", .choices = "context,cpu",
                  .sweep = "context,cpu", .brief = "context"},
        .create = create, .count = count, .settle = settle,
    }, argc, argv);
}
