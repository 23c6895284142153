/* SPDX-License-Identifier: Apache-2.0
 * product - five numbers multiplied from left to right, or in an order that waits less.
 *
 * The tuning advice: (b * c) * (d * e) * f instead of ((b * c) * d) * e * f. A compiler must keep the order of a product
 * of floating-point numbers, because another one rounds differently.
 *
 * way=left: four multiplications, each of the one before. pairs: three of them lie one after the other. last:
 * b * ((c * d) * (e * f)), where one does, if b is what the product waits for.
 * use=chained: each product is the b of the next, so that it is waited for. independent: all b are there.
 *
 * Known answer: the products are powers of two, so that every order is exact: their sum, or the last of the chain.
 * Overhead: a call through a pointer for each pass over 255 products.
 * Limits: what is gained is the waiting; where products do not wait for each other, the processor has other work.
 * Variants: compiler=gcc,clang level=2,0,3
 * Assembly: left_chained__* contains mulsd|fmul
 * Loop: left_chained__* contains (?s)(mulsd|fmul)(.*(mulsd|fmul)){3}
 * Loop: last_chained__* contains (?s)(mulsd|fmul)(.*(mulsd|fmul)){3}
 * Source: the tuning article on code of wzxue.com (2012); Bryant and O'Hallaron, Computer Systems: A Programmer's
 * Perspective, section 5.9.2. */
#include "variants.h"

/* From factors[4 * i] to factors[4 * i + 3] are c, d, e and f. */
typedef double chained(double b, const double *factors, uint64_t products);
typedef void independent(double *numbers, const double *factors, uint64_t products);

#ifdef VARIANT

#define LEFT(b, at) ((((b) * (at)[0]) * (at)[1]) * (at)[2]) * (at)[3]
#define PAIRS(b, at) (((b) * (at)[0]) * ((at)[1] * (at)[2])) * (at)[3]
#define LAST(b, at) (b) * (((at)[0] * (at)[1]) * ((at)[2] * (at)[3]))

#define WAY(name, PRODUCT)                                                                                             \
    TIMED(double, name##_chained, (double b, const double *factors, uint64_t products))                                \
    {                                                                                                                  \
        for (uint64_t i = 0; i < products; i++)                                                                        \
            b = PRODUCT(b, factors + 4 * i);                                                                           \
        return b;                                                                                                      \
    }                                                                                                                  \
    TIMED(void, name##_independent, (double *numbers, const double *factors, uint64_t products))                       \
    {                                                                                                                  \
        for (uint64_t i = 0; i < products; i++)                                                                        \
            numbers[i] = PRODUCT((double)(i & 1), factors + 4 * i);                                                    \
    }

WAY(left, LEFT)
WAY(pairs, PAIRS)
WAY(last, LAST)

#else

#define PRODUCTS UINT64_C(255)

static struct {
    chained *chained;
    independent *independent; /* the other one is NULL */
    double factors[4 * PRODUCTS], numbers[PRODUCTS];
} products;

/* Every second product is 2 times its b, the others half of it. */
static double factor_of(uint64_t i)
{
    return i % 2 == 0 ? 2.0 : 0.5;
}

static void setup(struct probe_run *run)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%s", probe_choice(run, "way"), probe_choice(run, "use"));
    timed_function *found = timed_find(run, name);
    bool chain = probe_is(run, "use", "chained");
    products.chained = chain ? (chained *)found : NULL;
    products.independent = chain ? NULL : (independent *)found;
    for (uint64_t i = 0; i < PRODUCTS; i++) {
        double *at = products.factors + 4 * i;
        at[0] = 4, at[1] = 0.5, at[2] = 0.25, at[3] = 2 * factor_of(i);
    }
}

static bool numbers_are_right(void)
{
    for (uint64_t i = 0; i < PRODUCTS; i++)
        if (products.numbers[i] != (double)(i & 1) * factor_of(i))
            return false;
    return true;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t passes = (operations + PRODUCTS - 1) / PRODUCTS;
    double sum = 0;
    memset(products.numbers, 0xff, sizeof products.numbers);
    probe_start(value);
    for (uint64_t i = 0; i < passes; i++)
        if (products.chained)
            sum += products.chained(1.0, products.factors, PRODUCTS);
        else
            products.independent(products.numbers, products.factors, PRODUCTS);
    probe_stop(value);
    value->operations = passes * PRODUCTS;
    bool right = products.chained ? sum == 2.0 * (double)passes : numbers_are_right();
    probe_count(value, "checked", right ? value->operations : 0);
}

static const struct probe product_probe = {
    .title = "product of five numbers",
    .question = "Does the order matter in which the factors of a product are multiplied?",
    .operation = "one product of five numbers",
    .source = "the tuning article on code of wzxue.com (2012); Bryant and O'Hallaron, Computer Systems: A "
              "Programmer's Perspective, section 5.9.2",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){
        {"product", "s", "lower", "wall", "operations", "time of one product"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "order of the multiplications", .choices = "left,pairs,last",
         .sweep = "left,pairs,last", .brief = "left,pairs"},
        {.name = "use", .doc = "whether a product is waited for", .choices = "chained,independent",
         .sweep = "chained,independent", .brief = "chained"},
        TIMED_PARAMS,
        {0}},
    .setup = setup,
    .batch = batch,
    .selftest = timed_selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&product_probe, argc, argv);
}

#endif
