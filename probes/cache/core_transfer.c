/* SPDX-License-Identifier: Apache-2.0
 * core_transfer - one cache line travels from one CPU to another.
 *
 * Two threads pass a number to and fro: each waits until the other has written, and writes the next one. A round trip
 * is two transfers, and one operation is one of them, one way. It is what communication through memory cannot be
 * faster than, and the unit of message/latency_shm_spin and latency_shm_ring.
 *
 * With by=store the line is first fetched to be read and then claimed to be written, as whoever waits for a flag does;
 * with by=exchange it is claimed at once, by a compare and swap that fails until the number is there.
 *
 * Known answer: the number goes up by exactly one a transfer, and only the two in turn can have counted it up.
 * Overhead: a comparison and a turn of the loop on each side, about 1 ns.
 * Limits: two CPUs of one core share their first cache, and then no line travels. pair=placed are the two CPUs that
 * the placement gives; all other pairs are the matrix of the machine, of its first 12 CPUs. For them the probe moves
 * to CPUs that the lab does not watch for neighbours. The line lies where the first CPU touched it.
 * Assembly: volley contains cmp
 * Assembly: volley_by_exchange contains lock cmpxchg|casal?\b|ldaxr|<__aarch64_cas
 * Source: Molka, Hackenberg, Schöne & Müller, Memory Performance and Cache Coherency Effects on an Intel Nehalem
 * Multiprocessor System (PACT 2009); the form of core-to-core-latency (N. Viennot), with a line of its own a pair. */
#define _GNU_SOURCE
#include "contexts.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACED "placed"
#define MATRIX_CPUS 12
#define PAIRS_TEXT_BYTES 2048
#define STOP (UINT64_C(1) << 63) /* no number gets that far */

struct table {
    _Alignas(PROBE_CACHE_LINE) uint64_t number; /* odd: written by the first, even: by the second */
    _Alignas(PROBE_CACHE_LINE) bool by_exchange;
    struct contexts *second;
};

/* The first one's half: from `number`, which it has, to `last`, which the second wrote. */
static __attribute__((noinline)) void volley(uint64_t *line, uint64_t number, uint64_t last)
{
    while (number != last) {
        __atomic_store_n(line, number + 1, __ATOMIC_RELEASE); /* pairs with the load of the second */
        number += 2;
        while (__atomic_load_n(line, __ATOMIC_ACQUIRE) != number)
            ;
    }
}

static inline void step_by_exchange(uint64_t *line, uint64_t from)
{
    uint64_t expected;
    do
        expected = from;
    while (!__atomic_compare_exchange_n(line, &expected, from + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

static __attribute__((noinline)) void volley_by_exchange(uint64_t *line, uint64_t number, uint64_t last)
{
    for (; number != last; number += 2)
        step_by_exchange(line, number);
    while (__atomic_load_n(line, __ATOMIC_ACQUIRE) != last)
        ;
}

static void return_all(uint64_t *line)
{
    for (uint64_t number = 1;; number += 2) {
        uint64_t seen;
        while ((seen = __atomic_load_n(line, __ATOMIC_ACQUIRE)) != number)
            if (seen == STOP)
                return;
        __atomic_store_n(line, number + 1, __ATOMIC_RELEASE); /* pairs with the load in volley */
    }
}

static void return_all_by_exchange(uint64_t *line)
{
    for (uint64_t number = 1;; number += 2) {
        uint64_t expected = number;
        while (!__atomic_compare_exchange_n(line, &expected, number + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            if (expected == STOP)
                return;
            expected = number;
        }
    }
}

static void second(struct probe_run *run, int index, void *shared)
{
    struct table *table = shared;
    (void)run, (void)index;
    if (table->by_exchange)
        return_all_by_exchange(&table->number);
    else
        return_all(&table->number);
}

/* --- pairs of CPUs ------------------------------------------------------------------------------------------- */

/* "0-1" as CPUs 0 and 1. The launcher gave this run two CPUs; a pair of the matrix may be others. */
static void move_to_pair(struct probe_run *run, const char *pair)
{
    cpu_set_t set;
    int first, other;
    if (sscanf(pair, "%d-%d", &first, &other) != 2)
        probe_fail("the pair %s is not understood", pair);
    CPU_ZERO(&set);
    CPU_SET((unsigned)first, &set);
    CPU_SET((unsigned)other, &set);
    cpu_set_t got;
    if (sched_setaffinity(0, sizeof set, &set) != 0 || sched_getaffinity(0, sizeof got, &got) != 0 ||
        !CPU_EQUAL(&set, &got))
        probe_skip("this process may not use CPUs %d and %d", first, other);
    run->cpus = 2;
    run->cpu[0] = first;
    run->cpu[1] = other;
    probe_place(run, 0);
}

static const char *pair_of(const struct probe_run *run)
{
    for (int i = 0; run->probe->params[i].name; i++)
        if (strcmp(run->probe->params[i].name, "pair") == 0)
            return run->choice[i];
    return PLACED;
}

/* Every pair of this machine's CPUs, "placed" first: what may be asked for. */
static const char *pairs_of_machine(void)
{
    static char text[PAIRS_TEXT_BYTES] = PLACED;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t used = strlen(text);
    for (int a = 0; a < cpus && a < MATRIX_CPUS; a++)
        for (int b = a + 1; b < cpus && b < MATRIX_CPUS; b++)
            used += (size_t)snprintf(text + used, sizeof text - used, ",%d-%d", a, b);
    return text;
}

/* --- the probe ----------------------------------------------------------------------------------------------- */

static void setup(struct probe_run *run)
{
    if (strcmp(pair_of(run), PLACED) != 0)
        move_to_pair(run, pair_of(run));
    struct table *table = run->state = probe_share(sizeof *table);
    table->by_exchange = probe_is(run, "by", "exchange");
    table->second = contexts_start(run, false, 1, 1, second, table);
}

/* An odd number of transfers would leave the line with the other one: there is always a way back. */
static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct table *table = run->state;
    uint64_t number = table->number, transfers = operations + (operations & 1);
    void (*play)(uint64_t *, uint64_t, uint64_t) = table->by_exchange ? volley_by_exchange : volley;
    value->operations = transfers;
    probe_start(value);
    play(&table->number, number, number + transfers);
    probe_stop(value);
    probe_count(value, "checked", __atomic_load_n(&table->number, __ATOMIC_ACQUIRE) - number);
    probe_reading(value, "bytes", PROBE_CACHE_LINE * (double)transfers);
}

static void teardown(struct probe_run *run)
{
    struct table *table = run->state;
    __atomic_store_n(&table->number, STOP, __ATOMIC_RELEASE);
    contexts_join(run, table->second);
}

static struct probe_param params[] = {
    {.name = "by", .doc = "how a number is waited for: it is looked at and then written, or compared and swapped at "
                          "once", .choices = "store,exchange", .sweep = "store,exchange", .brief = "store"},
    {.name = "pair", .doc = "which two CPUs", .brief = PLACED},
    {0}};

static const struct probe core_transfer = {
    .title = "cache line from CPU to CPU",
    .question = "How long does a cache line take from one CPU to another?",
    .operation = "one transfer of a cache line from one CPU to another, one way: half of a round trip",
    .source = "Molka et al., Memory Performance and Cache Coherency Effects on Nehalem (PACT 2009); "
              "core-to-core-latency (nviennot)",
    .statistic = "median",
    .placements = "cross",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"transfer", "s", "lower", "wall", "operations", "time of one transfer, one way"},
        {"bandwidth", "B/s", "higher", "bytes", "wall", "bytes of lines that travelled in a second, one at a time"},
        {0}},
    .params = params,
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    params[1].choices = pairs_of_machine();
    params[1].sweep = sysconf(_SC_NPROCESSORS_ONLN) > 2 ? params[1].choices : PLACED; /* of two there is no other */
    return probe_main(&core_transfer, argc, argv);
}
