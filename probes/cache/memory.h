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

/* 0 … count-1 in random order; freed with the process. */
static inline uint32_t *shuffled(uint64_t count)
{
    uint64_t state = UINT64_C(88172645463325252);
    uint32_t *order = malloc(count * sizeof *order);
    if (!order)
        probe_fail("out of memory");
    for (uint64_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (uint64_t i = count - 1; i > 0; i--) {
        uint64_t j = next_random(&state) % (i + 1);
        uint32_t other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    return order;
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
