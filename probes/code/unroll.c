/* SPDX-License-Identifier: Apache-2.0
 * unroll - numbers added up by a loop that is unrolled, into one sum or into several.
 *
 * form=4x2: four additions a turn, into two sums in turn, and what is left over one by one. Unrolling saves the counting
 * and the jumps; several sums save waiting, because each addition needs the one before it into the same sum.
 *
 * type=int: whole numbers, which a compiler may add in any order, and so several at once. double: it may not.
 *
 * Known answer: the sum of all passes, over a length that no form divides; whole numbers in both types.
 * Overhead: a call through a pointer for each pass over the numbers.
 * Limits: the numbers lie in the first cache.
 * Variants: compiler=gcc,clang level=2,0,3
 * Assembly: int_1x1__* contains \b(add|padd)
 * Assembly: double_1x1__* contains \b(add[sp]d|fadd)
 * Loop: double_1x1__gcc_O2 lacks (?s)addsd.*addsd|addpd
 * Loop: double_8x1__gcc_O2 contains (?s)addsd(.*addsd){7}
 * Loop: double_8x4__gcc_O2 contains (?s)addsd(.*addsd){7}|addpd(.*addpd){3}
 * Source: the tuning article on code of wzxue.com (2012), whose loops lack what is left over; Bryant and O'Hallaron,
 * Computer Systems: A Programmer's Perspective, sections 5.8 and 5.9. */
#include "variants.h"

typedef uint32_t add_int(const uint32_t *array, uint64_t length);
typedef double add_double(const double *array, uint64_t length);

#ifdef VARIANT

/* `turn` adds array[i] … array[i + step - 1] to a, b, c and d. */
#define FORM(type, name, step, turn)                                                                                   \
    TIMED(type, name, (const type *array, uint64_t length))                                                            \
    {                                                                                                                  \
        type a = 0, b = 0, c = 0, d = 0;                                                                               \
        uint64_t i = 0;                                                                                                \
        for (; i + step <= length; i += step) {                                                                        \
            turn                                                                                                       \
        }                                                                                                              \
        for (; i < length; i++)                                                                                        \
            a += array[i];                                                                                             \
        return (a + b) + (c + d);                                                                                      \
    }

#define TWO(one, other, at) one += array[i + at]; other += array[i + at + 1];
#define FOUR(one, other, third, fourth, at) TWO(one, other, at) TWO(third, fourth, at + 2)

/* clang-format off */
#define FORMS(type, word)                                                                                              \
    TIMED(type, word##_1x1, (const type *array, uint64_t length))                                                      \
    {                                                                                                                  \
        type a = 0;                                                                                                    \
        for (uint64_t i = 0; i < length; i++)                                                                          \
            a += array[i];                                                                                             \
        return a;                                                                                                      \
    }                                                                                                                  \
    FORM(type, word##_2x1, 2, TWO(a, a, 0))                                                                            \
    FORM(type, word##_2x2, 2, TWO(a, b, 0))                                                                            \
    FORM(type, word##_4x1, 4, FOUR(a, a, a, a, 0))                                                                     \
    FORM(type, word##_4x2, 4, FOUR(a, b, a, b, 0))                                                                     \
    FORM(type, word##_4x4, 4, FOUR(a, b, c, d, 0))                                                                     \
    FORM(type, word##_8x1, 8, FOUR(a, a, a, a, 0) FOUR(a, a, a, a, 4))                                                 \
    FORM(type, word##_8x2, 8, FOUR(a, b, a, b, 0) FOUR(a, b, a, b, 4))                                                 \
    FORM(type, word##_8x4, 8, FOUR(a, b, c, d, 0) FOUR(a, b, c, d, 4))
/* clang-format on */

FORMS(uint32_t, int)
FORMS(double, double)

#else

#define MOST 65536

static struct {
    add_int *add_int;
    add_double *add_double; /* the other one is NULL */
    uint64_t length;
    uint32_t ints[MOST];
    double doubles[MOST];
    uint64_t of_array;
} numbers;

static void setup(struct probe_run *run)
{
    char name[32];
    bool whole = probe_is(run, "type", "int");
    snprintf(name, sizeof name, "%s_%s", probe_choice(run, "type"), probe_choice(run, "form"));
    timed_function *found = timed_find(run, name);
    numbers.add_int = whole ? (add_int *)found : NULL;
    numbers.add_double = whole ? NULL : (add_double *)found;
    numbers.length = (uint64_t)probe_integer(run, "length");
    numbers.of_array = 0;
    for (uint64_t i = 0; i < numbers.length; i++) {
        numbers.ints[i] = (uint32_t)(i * 40503 % 1000);
        numbers.doubles[i] = (double)numbers.ints[i];
        numbers.of_array += numbers.ints[i];
    }
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t passes = (operations + numbers.length - 1) / numbers.length, sum = 0;
    probe_start(value);
    if (numbers.add_int)
        for (uint64_t i = 0; i < passes; i++)
            sum += numbers.add_int(numbers.ints, numbers.length);
    else
        for (uint64_t i = 0; i < passes; i++)
            sum += (uint64_t)numbers.add_double(numbers.doubles, numbers.length);
    probe_stop(value);
    value->operations = passes * numbers.length;
    probe_count(value, "checked", sum == passes * numbers.of_array ? value->operations : 0);
}

#define FORM_NAMES "1x1,2x1,2x2,4x1,4x2,4x4,8x1,8x2,8x4"

static const struct probe unroll_probe = {
    .title = "unrolled sum",
    .question = "What does a sum gain by an unrolled loop, and by several sums side by side?",
    .operation = "one number added",
    .source = "the tuning article on code of wzxue.com (2012); Bryant and O'Hallaron, Computer Systems: A "
              "Programmer's Perspective, sections 5.8 and 5.9",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){
        {"addition", "s", "lower", "wall", "operations", "time of one addition"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "form", .doc = "additions a turn x sums", .choices = FORM_NAMES, .sweep = FORM_NAMES,
         .brief = "1x1,2x1,2x2"},
        {.name = "type", .doc = "of the numbers", .choices = "int,double", .sweep = "int,double", .brief = "int"},
        TIMED_PARAMS,
        {.name = "length", .doc = "numbers of a pass", .unit = "1", .sweep = "1023", .min = 1, .max = MOST},
        {0}},
    .setup = setup,
    .batch = batch,
    .selftest = timed_selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&unroll_probe, argc, argv);
}

#endif
