/* SPDX-License-Identifier: Apache-2.0
 * histogram.h - whole numbers, most often times, counted in buckets narrower than 1 % of what they hold.
 *
 * HdrHistogram's idea (Tene): the buckets are log-linear, each octave cut into 128 equal parts. The bucket is found by
 * a shift, without a branch or a division; no number is too large; a distribution touches a few cache lines of the
 * 58 KiB. Keeping every number instead would touch a new line every eighth, and pages that are not there yet. */
#ifndef STEELYARD_HISTOGRAM_H
#define STEELYARD_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_PART_BITS 7
#define HISTOGRAM_PARTS (UINT64_C(1) << HISTOGRAM_PART_BITS) /* of an octave: a bucket is 1/256 to 1/128 wide */
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_PART_BITS + 1) * HISTOGRAM_PARTS)

/* Zeroed before use. */
struct histogram {
    uint64_t count, total;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* How far a number is shifted so that 8 bits of it remain: 0 below 256, which makes those buckets exact. */
static inline int histogram_shift(uint64_t number)
{
    return 63 - HISTOGRAM_PART_BITS - __builtin_clzll(number | HISTOGRAM_PARTS);
}

static inline void histogram_add(struct histogram *histogram, uint64_t number)
{
    int shift = histogram_shift(number);
    histogram->bucket[((uint64_t)shift << HISTOGRAM_PART_BITS) + (number >> shift)]++;
    histogram->count++;
    histogram->total += number;
}

static inline void histogram_merge(struct histogram *into, const struct histogram *from)
{
    into->count += from->count;
    into->total += from->total;
    for (uint64_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++)
        into->bucket[bucket] += from->bucket[bucket];
}

/* How far the numbers of a bucket were shifted. */
static inline uint64_t histogram_shift_of(uint64_t bucket)
{
    return bucket < 2 * HISTOGRAM_PARTS ? 0 : (bucket >> HISTOGRAM_PART_BITS) - 1;
}

/* The least number that a bucket holds. */
static inline uint64_t histogram_least(uint64_t bucket)
{
    uint64_t shift = histogram_shift_of(bucket);
    return (bucket - (shift << HISTOGRAM_PART_BITS)) << shift;
}

/* The middle of the numbers that a bucket holds. */
static inline double histogram_middle(uint64_t bucket)
{
    uint64_t width = UINT64_C(1) << histogram_shift_of(bucket);
    return (double)histogram_least(bucket) + (double)(width - 1) / 2;
}

/* The smallest number that at least `share` of all do not exceed, to within 0.4 %. 0 if empty. */
static inline double histogram_quantile(const struct histogram *histogram, double share)
{
    double wanted = share * (double)histogram->count;
    uint64_t seen = 0;
    for (uint64_t bucket = 0; histogram->count && bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->bucket[bucket];
        if (seen && (double)seen >= wanted)
            return histogram_middle(bucket);
    }
    return 0;
}

#endif
