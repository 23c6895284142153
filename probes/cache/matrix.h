/* SPDX-License-Identifier: Apache-2.0
 * matrix.h - square matrices of doubles, row by row, with whole numbers in them that are added without rounding. */
#ifndef STEELYARD_CACHE_MATRIX_H
#define STEELYARD_CACHE_MATRIX_H

#include "memory.h"

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline double *matrix_new(uint64_t n, uint64_t seed)
{
    double *matrix = memory_for_caches(n * n * sizeof *matrix);
    for (uint64_t i = 0; i < n * n && seed; i++)
        matrix[i] = (double)(next_random(&seed) >> 61); /* 0 … 7 */
    return matrix;
}

#define MATRIX_METHOD_PARAM \
    {.name = "method", .doc = "row by row, or in blocks whose side is `block` elements", .choices = "plain,blocked", \
     .sweep = "plain,blocked"}, \
    {.name = "block", .doc = "side of a block in elements of 8 bytes; only with method=blocked", .unit = "1", \
     .sweep = "8", .min = 2, .max = 512}

#endif
