/* SPDX-License-Identifier: Apache-2.0
 * matrix_transpose - a square matrix is copied to its transpose, row by row, or in blocks.
 *
 * The plain way writes down a column: a line of the result takes one number before it has to leave, once n lines do
 * not fit into the cache. In blocks of a line's width (block=8) it is full when it leaves.
 *
 * Known answer: every element of the transpose, compared after a batch; one that each operation changes, each time.
 * Overhead: that comparison.  Limits: where n is a power of two all lines of a column fall into few sets of the cache,
 * and the plain way suffers more than with n=1000.
 * Assembly: transpose_plain contains mov[sq]?[sd]?d?\s|\bstr
 * Assembly: transpose_blocked contains mov[sq]?[sd]?d?\s|\bstr
 * Source: Drepper, What Every Programmer Should Know About Memory (2007), section 6.2.1; Lam, Rothberg & Wolf, The
 * Cache Performance and Optimizations of Blocked Algorithms (ASPLOS 1991). */
#include "matrix.h"

struct transpose {
    double *from, *to;
    uint64_t n, block, number;
};

static __attribute__((noinline)) void transpose_plain(double *to, const double *from, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++)
            to[j * n + i] = from[i * n + j];
}

static __attribute__((noinline)) void transpose_blocked(double *to, const double *from, uint64_t n, uint64_t block)
{
    for (uint64_t i0 = 0; i0 < n; i0 += block)
        for (uint64_t j0 = 0; j0 < n; j0 += block)
            for (uint64_t i = i0; i < least(i0 + block, n); i++)
                for (uint64_t j = j0, end = least(j0 + block, n); j < end; j++)
                    to[j * n + i] = from[i * n + j];
}

static void setup(struct probe_run *run)
{
    static struct transpose transpose;
    transpose.n = (uint64_t)probe_integer(run, "n");
    transpose.block = probe_is(run, "method", "blocked") ? (uint64_t)probe_integer(run, "block") : 0;
    transpose.from = matrix_new(transpose.n, 3);
    transpose.to = matrix_new(transpose.n, 0);
    run->state = &transpose;
}

static bool is_transposed(const struct transpose *transpose)
{
    uint64_t n = transpose->n;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++)
            if (transpose->to[j * n + i] != transpose->from[i * n + j])
                return false;
    return true;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct transpose *transpose = run->state;
    uint64_t n = transpose->n, right = 0, corner = n - 1; /* of the first row: the first of the last row */
    probe_start(value);
    for (uint64_t i = 0; i < operations; i++) {
        transpose->from[corner] = (double)++transpose->number;
        if (transpose->block)
            transpose_blocked(transpose->to, transpose->from, n, transpose->block);
        else
            transpose_plain(transpose->to, transpose->from, n);
        right += transpose->to[(n - 1) * n] == (double)transpose->number;
    }
    probe_stop(value);
    probe_count(value, "checked", is_transposed(transpose) ? right : 0);
    probe_count(value, "elements", operations * n * n);
}

static const struct probe matrix_transpose = {
    .title = "matrix transpose",
    .question = "Does the transpose of a matrix gain by being made in blocks?",
    .operation = "one transpose of a matrix of n times n doubles into another",
    .source = "Drepper, What Every Programmer Should Know About Memory (2007), section 6.2.1; Lam, Rothberg & Wolf "
              "(ASPLOS 1991)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2,
    .family = "matrix",
    .metrics = (const struct probe_metric[]){
        {"element", "s", "lower", "wall", "elements", "time for each of the n*n elements"},
        {"transpose", "s", "lower", "wall", "operations", "time of one transpose"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "n", .doc = "rows and columns", .unit = "1", .sweep = "64,256,1000,1024", .brief = "64,1024",
         .min = 2, .max = 16384},
        MATRIX_METHOD_PARAM,
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&matrix_transpose, argc, argv);
}
