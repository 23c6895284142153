/* SPDX-License-Identifier: Apache-2.0
 * matrix_product - the product of two square matrices, by the sum over a row and a column, or in blocks.
 *
 * The plain way goes down a column of the second matrix for each element: a line of it brings one number that is used.
 * In blocks of a line's width (block=8) all eight are used while the line is there.
 *
 * Known answer: the product, applied to a vector, is the first matrix applied to the second applied to it (Freivalds);
 * all are whole numbers, so without rounding. An element that every operation changes is compared each time.
 * Overhead: that comparison, n multiplications of n*n*n.
 * Limits: the compiler orders and vectorises nothing here (-O2); libraries for matrices are several times faster.
 * Assembly: multiply_plain contains mulsd|fmul|fmadd
 * Assembly: multiply_blocked contains mulsd|fmul|fmadd
 * Source: Drepper, What Every Programmer Should Know About Memory (2007), section 6.2.1; Lam, Rothberg & Wolf, The
 * Cache Performance and Optimizations of Blocked Algorithms (ASPLOS 1991). */
#include "matrix.h"

struct product {
    double *a, *b, *c;
    uint64_t n, block, number;
};

static __attribute__((noinline)) void multiply_plain(double *c, const double *a, const double *b, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++) {
            double sum = 0;
            for (uint64_t k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

static __attribute__((noinline)) void multiply_blocked(double *c, const double *a, const double *b, uint64_t n,
                                                       uint64_t block)
{
    memset(c, 0, n * n * sizeof *c);
    for (uint64_t i0 = 0; i0 < n; i0 += block)
        for (uint64_t j0 = 0; j0 < n; j0 += block)
            for (uint64_t k0 = 0; k0 < n; k0 += block)
                for (uint64_t i = i0; i < least(i0 + block, n); i++)
                    for (uint64_t k = k0, last = least(k0 + block, n); k < last; k++) {
                        double left = a[i * n + k];
                        for (uint64_t j = j0, end = least(j0 + block, n); j < end; j++)
                            c[i * n + j] += left * b[k * n + j];
                    }
}

static void setup(struct probe_run *run)
{
    static struct product product;
    product.n = (uint64_t)probe_integer(run, "n");
    product.block = probe_is(run, "method", "blocked") ? (uint64_t)probe_integer(run, "block") : 0;
    product.a = matrix_new(product.n, 1);
    product.b = matrix_new(product.n, 2);
    product.c = matrix_new(product.n, 0);
    run->state = &product;
}

/* The last element, which depends on the number that each operation puts into the first matrix. */
static bool last_element_is_right(const struct product *product)
{
    uint64_t n = product->n, last = n * n - 1;
    double sum = 0;
    for (uint64_t k = 0; k < n; k++)
        sum += product->a[(n - 1) * n + k] * product->b[k * n + n - 1];
    return product->c[last] == sum;
}

static void apply(double *result, const double *matrix, const double *vector, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        result[i] = 0;
        for (uint64_t k = 0; k < n; k++)
            result[i] += matrix[i * n + k] * vector[k];
    }
}

static bool product_is_right(const struct product *product)
{
    uint64_t n = product->n, seed = 7;
    double *vector = calloc(4 * n, sizeof *vector);
    if (!vector)
        probe_fail("out of memory");
    for (uint64_t i = 0; i < n; i++)
        vector[i] = (double)(next_random(&seed) >> 62);
    apply(vector + n, product->b, vector, n);
    apply(vector + 2 * n, product->a, vector + n, n);
    apply(vector + 3 * n, product->c, vector, n);
    bool right = memcmp(vector + 2 * n, vector + 3 * n, n * sizeof *vector) == 0;
    free(vector);
    return right;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct product *product = run->state;
    uint64_t right = 0, n = product->n;
    probe_start(value);
    for (uint64_t i = 0; i < operations; i++) {
        product->a[n * n - 1] = (double)(++product->number % 1024);
        if (product->block)
            multiply_blocked(product->c, product->a, product->b, n, product->block);
        else
            multiply_plain(product->c, product->a, product->b, n);
        right += last_element_is_right(product);
    }
    probe_stop(value);
    probe_count(value, "checked", product_is_right(product) ? right : 0);
    probe_count(value, "multiplications", operations * n * n * n);
}

static const struct probe matrix_product = {
    .title = "matrix product",
    .question = "Does a product of matrices gain by being made in blocks?",
    .operation = "one product of two matrices of n times n doubles",
    .source = "Drepper, What Every Programmer Should Know About Memory (2007), section 6.2.1; Lam, Rothberg & Wolf "
              "(ASPLOS 1991)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 2,
    .family = "matrix",
    .metrics = (const struct probe_metric[]){
        {"multiplication", "s", "lower", "wall", "multiplications", "time for each of the n*n*n multiplications"},
        {"product", "s", "lower", "wall", "operations", "time of one product"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "n", .doc = "rows and columns", .unit = "1", .sweep = "64,128,256", .brief = "64,256", .min = 2,
         .max = 4096},
        MATRIX_METHOD_PARAM,
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&matrix_product, argc, argv);
}
