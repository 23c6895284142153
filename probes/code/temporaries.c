/* SPDX-License-Identifier: Apache-2.0
 * temporaries - an expression in one piece, or step by step with a name for each step.
 *
 * The tuning advice: do not save variables at the price of code that is hard to read; the compiler does without those
 * that it does not need.
 *
 * way=named: a variable for each step. nested: one expression.
 *
 * Known answer: the sum of what the expression gives, reckoned once more outside the timed part.
 * Overhead: a call through a pointer for each pass over 1024 numbers.
 * Limits: an expression of six steps, which fits into registers; with very many variables both ways use memory.
 * Variants: compiler=gcc,clang level=2,0,3
 * Assembly: named__* contains \b(imul|mul|madd|lea|pmuludq|pmulld)
 * Assembly: nested__* contains \b(imul|mul|madd|lea|pmuludq|pmulld)
 * Source: the tuning article on code of wzxue.com (2012). */
#include "variants.h"

typedef uint32_t mix_all(const uint32_t *array, uint64_t length);

#define NESTED(x, y) ((((x) * 5 + (y)) ^ ((x) >> 3)) + (((y) - (x)) & 0xff))

#ifdef VARIANT

TIMED(uint32_t, named, (const uint32_t *array, uint64_t length))
{
    uint32_t sum = 0;
    for (uint64_t i = 0; i + 1 < length; i++) {
        uint32_t x = array[i];
        uint32_t y = array[i + 1];
        uint32_t product = x * 5;
        uint32_t raised = product + y;
        uint32_t shifted = x >> 3;
        uint32_t mixed = raised ^ shifted;
        uint32_t distance = y - x;
        uint32_t low = distance & 0xff;
        uint32_t result = mixed + low;
        sum = sum + result;
    }
    return sum;
}

TIMED(uint32_t, nested, (const uint32_t *array, uint64_t length))
{
    uint32_t sum = 0;
    for (uint64_t i = 0; i + 1 < length; i++)
        sum += NESTED(array[i], array[i + 1]);
    return sum;
}

#else

#define LENGTH UINT64_C(1025) /* numbers; there is a result for each but the last */

static struct {
    mix_all *mix;
    uint32_t array[LENGTH], of_array;
} numbers;

static void setup(struct probe_run *run)
{
    numbers.mix = (mix_all *)timed_find(run, probe_choice(run, "way"));
    numbers.of_array = 0;
    for (uint64_t i = 0; i < LENGTH; i++)
        numbers.array[i] = (uint32_t)(i * 2654435761u);
    for (uint64_t i = 0; i + 1 < LENGTH; i++)
        numbers.of_array += NESTED(numbers.array[i], numbers.array[i + 1]);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t passes = (operations + LENGTH - 2) / (LENGTH - 1);
    uint32_t sum = 0;
    probe_start(value);
    for (uint64_t i = 0; i < passes; i++)
        sum += numbers.mix(numbers.array, LENGTH);
    probe_stop(value);
    value->operations = passes * (LENGTH - 1);
    probe_count(value, "checked", sum == (uint32_t)passes * numbers.of_array ? value->operations : 0);
}

static const struct probe temporaries_probe = {
    .title = "expression, whole or in steps",
    .question = "Do variables for the steps of an expression cost anything?",
    .operation = "one expression of six steps",
    .source = "the tuning article on code of wzxue.com (2012)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){
        {"expression", "s", "lower", "wall", "operations", "time of one expression"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "how it is written", .choices = "named,nested", .sweep = "named,nested"},
        TIMED_PARAMS,
        {0}},
    .setup = setup,
    .batch = batch,
    .selftest = timed_selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&temporaries_probe, argc, argv);
}

#endif
