/* SPDX-License-Identifier: Apache-2.0
 * memory.h - memory on pages of a known size, orders to visit it in, and the sizes of the caches as the machine reports
 * them. */
#ifndef STEELYARD_CACHE_MEMORY_H
#define STEELYARD_CACHE_MEMORY_H

#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define SMALL_PAGE UINT64_C(4096)
#define HUGE_PAGE (UINT64_C(2) << 20)
#define FALLBACK_LAST_LEVEL (UINT64_C(32) << 20) /* where the machine does not say */

enum pages { SMALL_PAGES, HUGE_PAGES };

/* --- pages ----------------------------------------------------------------------------------------------------- */

/* Bytes of the mapping that holds `address` that lie on huge pages; 0 where the kernel does not say. */
static inline uint64_t huge_bytes_at(const void *address)
{
    char line[512];
    unsigned long long low, high, kib, found = 0;
    bool here = false;
    FILE *file = fopen("/proc/self/smaps", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%llx-%llx ", &low, &high) == 2)
            here = (uintptr_t)address >= low && (uintptr_t)address < high;
        else if (here && sscanf(line, "AnonHugePages: %llu kB", &kib) == 1)
            found = kib << 10;
    }
    if (file)
        fclose(file);
    return found;
}

/* `bytes` of zeroed memory that is there, aligned to a huge page, on small pages or, as far as the kernel gives them,
 * on huge ones (huge_bytes_at tells). Freed with the process. The kernel zeroes it when one byte of a page is
 * written. */
static inline void *memory_new(uint64_t bytes, enum pages pages)
{
    uint64_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    unsigned char *at = mmap(NULL, whole + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        probe_skip("%llu MiB of memory are not available", (unsigned long long)(whole >> 20));
    at += HUGE_PAGE - (uintptr_t)at % HUGE_PAGE;
    madvise(at, whole, pages == HUGE_PAGES ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (uint64_t i = 0; i < bytes; i += SMALL_PAGE)
        *(volatile unsigned char *)(at + i) = 0;
    return at;
}

/* On huge pages if there are any, so that the caches are the subject and not the translation of addresses; it is said
 * where there are none. */
static inline void *memory_for_caches(uint64_t bytes)
{
    void *memory = memory_new(bytes, HUGE_PAGES);
    if (bytes >= HUGE_PAGE && huge_bytes_at(memory) < bytes / HUGE_PAGE * HUGE_PAGE)
        probe_caveat("the memory is not all on huge pages (see transparent_hugepage/enabled): the translation of "
                     "addresses is in the figure");
    return memory;
}

/* --- orders ---------------------------------------------------------------------------------------------------- */

/* xorshift64*: the same numbers in every run. */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* 0 … count-1 in random order, the same in every run, without a table: each rank has its place, and each place its rank.
 * So whoever builds something in that order can write it from one end of the memory to the other. From a table it is
 * written as much at random as it will be read, which for 1 GiB took a second more. */
struct order {
    uint64_t count, mask;
    unsigned half;
};

static inline struct order order_of(uint64_t count)
{
    unsigned bits = 1;
    while (bits < 63 && UINT64_C(1) << bits < count)
        bits++;
    return (struct order){count, (UINT64_C(1) << bits) - 1, (bits + 1) / 2};
}

/* Odd factors, and what takes them back: their inverses modulo 2^64. */
static const uint64_t order_factors[] = {UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb),
                                         UINT64_C(0xd6e8feb86659fd93)};
#define ORDER_ROUNDS (sizeof order_factors / sizeof *order_factors)

static inline uint64_t inverse_of(uint64_t factor)
{
    uint64_t inverse = factor; /* right in 3 bits, and each step doubles them */
    for (int step = 0; step < 5; step++)
        inverse *= 2 - factor * inverse;
    return inverse;
}

/* Multiplication carries low bits to high ones and the shift high ones to low ones; a shift by at least half of the bits
 * takes itself back. What lies beyond `count` is mixed again until it does not. */
static inline uint64_t order_place(const struct order *order, uint64_t rank)
{
    do {
        rank ^= rank >> order->half;
        for (unsigned round = 0; round < ORDER_ROUNDS; round++) {
            rank = rank * order_factors[round] & order->mask;
            rank ^= rank >> order->half;
        }
    } while (rank >= order->count);
    return rank;
}

static inline uint64_t order_rank(const struct order *order, uint64_t place)
{
    do {
        place ^= place >> order->half;
        for (unsigned round = ORDER_ROUNDS; round-- > 0;) {
            place = place * inverse_of(order_factors[round]) & order->mask;
            place ^= place >> order->half;
        }
    } while (place >= order->count);
    return place;
}

/* --- caches ---------------------------------------------------------------------------------------------------- */

/* Size of the largest cache of the first CPU in bytes, as the kernel reports it. The C library's sysconf() multiplies
 * what some AMD processors say: 320 MiB where a CPU sees 32. */
static inline uint64_t last_level_bytes(void)
{
    uint64_t largest = 0;
    for (int index = 0; index < 8; index++) {
        char path[96];
        unsigned long long kib;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *file = fopen(path, "re");
        if (!file)
            break;
        if (fscanf(file, "%lluK", &kib) == 1 && kib << 10 > largest)
            largest = kib << 10;
        fclose(file);
    }
    return largest ? largest : FALLBACK_LAST_LEVEL;
}

/* "first,2*first,4*first,…" to the first power of two that is at least `last`: a sweep that depends on the machine. */
static inline const char *doubling_sweep(char *text, size_t room, uint64_t first, uint64_t last)
{
    size_t used = 0;
    for (uint64_t size = first;; size *= 2) {
        used += (size_t)snprintf(text + used, room - used, "%s%llu", used ? "," : "", (unsigned long long)size);
        if (size >= last || used + 24 > room)
            return text;
    }
}

#endif
