/* SPDX-License-Identifier: Apache-2.0
 * passes.h - memory read, written and copied from end to end, by ordinary stores or past the caches. Sizes in bytes,
 * whole cache lines; addresses aligned to a line. */
#ifndef STEELYARD_CACHE_PASSES_H
#define STEELYARD_CACHE_PASSES_H

#include "memory.h"

/* Two words in one register, on every machine. */
typedef uint64_t words __attribute__((vector_size(16)));
#define WORDS_A_LINE (PROBE_CACHE_LINE / sizeof(words))

static inline void require_streaming(void)
{
#if !defined(__x86_64__)
    probe_skip("stores past the caches are known to this probe for x86-64 alone");
#endif
}

/* The sum of all words: four sums side by side, so that no addition waits for another. Written out, because a compiler
 * that does not unroll keeps them in memory. */
static __attribute__((noinline, unused)) uint64_t read_pass(const words *at, uint64_t size)
{
    words a = {0}, b = {0}, c = {0}, d = {0};
    for (const words *end = at + size / sizeof *at; at < end; at += WORDS_A_LINE) {
        a += at[0];
        b += at[1];
        c += at[2];
        d += at[3];
    }
    words all = a + b + c + d;
    return all[0] + all[1];
}

/* Loads a register, and nothing is done with it. */
static inline void load(const words *at)
{
#if defined(__x86_64__)
    words loaded = *at;
    __asm__ volatile("" : : "x"(loaded));
#elif defined(__aarch64__)
    words loaded = *at;
    __asm__ volatile("" : : "w"(loaded));
#else
    (void)*(const volatile words *)at;
#endif
}

/* All of it is loaded, and the first two words of each line are added up, whose sum is returned. Were all added, each
 * addition would wait in the processor for its bytes, which then had fewer lines under way: 0.91 of the memory's
 * bandwidth by a loop of loads alone. Two lines a turn, because a turn for each was 0.94 of it in the first cache
 * (python -m benchmarks.peers --only load_sse). */
static __attribute__((noinline, unused)) uint64_t load_pass(const words *at, uint64_t size)
{
    words a = {0}, b = {0};
    const words *end = at + size / sizeof *at;
    if (size / PROBE_CACHE_LINE % 2) {
        end -= WORDS_A_LINE;
        a = end[0];
        for (unsigned i = 1; i < WORDS_A_LINE; i++)
            load(end + i);
    }
    for (; at < end; at += 2 * WORDS_A_LINE) {
        a += at[0];
        load(at + 1);
        load(at + 2);
        load(at + 3);
        b += at[4];
        load(at + 5);
        load(at + 6);
        load(at + 7);
    }
    a += b;
    return a[0] + a[1];
}

static __attribute__((noinline, unused)) void write_pass(words *at, uint64_t size, uint64_t number)
{
    words both = {number, number};
    for (words *end = at + size / sizeof *at; at < end; at += WORDS_A_LINE) {
        for (unsigned i = 0; i < WORDS_A_LINE; i++)
            at[i] = both;
        __asm__ volatile("" : : : "memory"); /* or the loop becomes a call of the C library */
    }
}

static inline void stream(words *to, words what)
{
#if defined(__x86_64__)
    _mm_stream_si128((__m128i *)to, (__m128i)what);
#else
    *to = what;
#endif
}

static inline void stream_end(void)
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

static __attribute__((noinline, unused)) void write_pass_streaming(words *at, uint64_t size, uint64_t number)
{
    words both = {number, number};
    for (words *end = at + size / sizeof *at; at < end; at += WORDS_A_LINE) {
        for (unsigned i = 0; i < WORDS_A_LINE; i++)
            stream(at + i, both);
        __asm__ volatile("" : : : "memory");
    }
    stream_end();
}

/* Written out as well: gcc 12 at -O2 makes a loop of 16 bytes a turn of it, which in the first cache copied less than
 * half as much as likwid-bench, whose turn is of 64 (python -m benchmarks.peers --only "copy_sse, 16384"). */
static __attribute__((noinline, unused)) void copy_pass(words *to, const words *from, uint64_t size)
{
    for (const words *end = from + size / sizeof *from; from < end; from += WORDS_A_LINE, to += WORDS_A_LINE) {
        to[0] = from[0];
        to[1] = from[1];
        to[2] = from[2];
        to[3] = from[3];
        __asm__ volatile("" : : : "memory");
    }
}

static __attribute__((noinline, unused)) void copy_pass_streaming(words *to, const words *from, uint64_t size)
{
    for (const words *end = from + size / sizeof *from; from < end; from += WORDS_A_LINE, to += WORDS_A_LINE) {
        stream(to, from[0]);
        stream(to + 1, from[1]);
        stream(to + 2, from[2]);
        stream(to + 3, from[3]);
        __asm__ volatile("" : : : "memory");
    }
    stream_end();
}

#endif
