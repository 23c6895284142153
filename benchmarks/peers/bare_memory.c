/* SPDX-License-Identifier: Apache-2.0
 * bare_memory - a second way to the figures of cache/core_transfer and cache/latency, sharing no line with the probes.
 *
 *   bare_memory transfer store|exchange COUNT    two threads take turns at one word; prints seconds a turn, one way
 *   bare_memory chase BYTES COUNT                loads that wait for each other; prints seconds a load
 *
 * COUNT is done in 15 stretches, and what the probe's runs are summed up by is said of them: the median of transfer,
 * the lower quartile of chase. A mean of all would be of another thing where neighbours slow some of them down.
 * The threads of transfer stay on the first and the last CPU that the process may use. The chase goes over a cycle of
 * all lines that Sattolo's algorithm draws (Sattolo, Information Processing Letters 22(6), 1986), on huge pages if the
 * kernel gives them. Nothing is checked. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LINE 64
#define HUGE (2ul << 20)

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#define STRETCHES 15

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* --- transfer -------------------------------------------------------------------------------------------------- */

static _Alignas(2 * LINE) atomic_long turn = -1;
static _Alignas(2 * LINE) atomic_bool there;
static long turns; /* of all stretches */
static int exchange;

static void stay_on(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
        exit(1);
}

/* Every other turn from `mine` to before `end`. */
static void play(long mine, long end)
{
    if (exchange) {
        for (; mine < end; mine += 2)
            for (long seen = mine; !atomic_compare_exchange_weak(&turn, &seen, mine + 1); seen = mine)
                ;
    } else {
        for (; mine < end; mine += 2) {
            while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
                ;
            atomic_store_explicit(&turn, mine + 1, memory_order_release);
        }
    }
}

static void *other(void *cpu)
{
    stay_on(*(int *)cpu);
    atomic_store(&there, 1);
    play(1, turns);
    return NULL;
}

static double transfer(const char *how, long count)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
        exit(1);
    int first = 0, last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(first, &set))
        first++;
    while (!CPU_ISSET(last, &set))
        last--;
    exchange = strcmp(how, "exchange") == 0;
    long stretch = count / STRETCHES / 2 * 2;
    turns = STRETCHES * stretch;
    pthread_t thread;
    if (stretch == 0 || pthread_create(&thread, NULL, other, &last) != 0)
        exit(1);
    stay_on(first);
    while (!atomic_load(&there))
        ;
    atomic_store(&turn, 0);
    double took[STRETCHES];
    for (int i = 0; i < STRETCHES; i++) {
        double start = now_s();
        play(i * stretch, (i + 1) * stretch);
        while (atomic_load_explicit(&turn, memory_order_acquire) != (i + 1) * stretch)
            ;
        took[i] = (now_s() - start) / (double)stretch;
    }
    pthread_join(thread, NULL);
    qsort(took, STRETCHES, sizeof *took, by_size);
    return took[STRETCHES / 2];
}

/* --- chase ----------------------------------------------------------------------------------------------------- */

static uint64_t below(uint64_t limit) /* a number below the limit: splitmix64, scaled */
{
    static uint64_t state = 1;
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint64_t)((unsigned __int128)(z ^ z >> 31) * limit >> 64);
}

static void *volatile *follow(void *volatile *at, long count)
{
    for (long i = 0; i < count; i += 8) {
        at = *at, at = *at, at = *at, at = *at;
        at = *at, at = *at, at = *at, at = *at;
    }
    return at;
}

static double chase(size_t bytes, long count)
{
    size_t lines = bytes / LINE;
    char *memory = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t *next = malloc(lines * sizeof *next);
    if (memory == MAP_FAILED || !next || lines < 2)
        exit(1);
    memory = (char *)(((uintptr_t)memory + HUGE - 1) / HUGE * HUGE);
    madvise(memory, (bytes + HUGE - 1) / HUGE * HUGE, MADV_HUGEPAGE);
    for (size_t i = 0; i < lines; i++)
        next[i] = (uint32_t)i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t j = below(i);
        uint32_t kept = next[i];
        next[i] = next[j];
        next[j] = kept;
    }
    for (size_t i = 0; i < lines; i++)
        *(void **)(memory + i * LINE) = memory + (size_t)next[i] * LINE;
    free(next);
    void *volatile *at = follow((void *volatile *)memory, (long)lines); /* what fits into a cache is there */
    long stretch = (count / STRETCHES + 7) / 8 * 8;
    double took[STRETCHES];
    for (int i = 0; i < STRETCHES; i++) {
        double start = now_s();
        at = follow(at, stretch);
        took[i] = (now_s() - start) / (double)stretch;
    }
    qsort(took, STRETCHES, sizeof *took, by_size);
    return took[STRETCHES / 4];
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long count = atol(argv[3]);
    if (count < STRETCHES)
        return 2;
    int is_chase = strcmp(argv[1], "chase") == 0;
    printf("%.6g\n", is_chase ? chase((size_t)atol(argv[2]), count) : transfer(argv[2], count));
    return 0;
}
