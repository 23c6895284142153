/* SPDX-License-Identifier: Apache-2.0
 * sum - numbers added up in memory, or in a local variable that is stored at the end.
 *
 * The tuning advice: `*sum += array[i]` loads and stores in each turn; add in a local variable. A compiler must not do
 * that by itself where sum may point into the array. Where `restrict` says that it does not, it may.
 *
 * way=memory: added through the pointer. local: in a local variable. memory_told: through a pointer with `restrict`.
 *
 * Known answer: the sum of all passes.
 * Overhead: a call through a pointer for each pass over the numbers.
 * Limits: the numbers lie in the first cache; from memory, that they have to come hides what a turn costs.
 * Variants: compiler=gcc,clang level=2,0,3
 * Assembly: local__* contains \b(add|paddd)
 * Loop: memory__* contains (mov|add)\w*\s[^,]+,-?(0x[0-9a-f]+)?\(%r|\bstr\b
 * Loop: local__*_O[23] lacks (mov|add)\w*\s+%e\w+,-?(0x[0-9a-f]+)?\(%r|\bstr\b
 * Source: the tuning article on code of wzxue.com (2012), whose local variable lacks its first value; Bryant and
 * O'Hallaron, Computer Systems: A Programmer's Perspective, section 5.6. */
#include "variants.h"

typedef void add_up(const uint32_t *array, uint64_t length, uint32_t *sum);

#ifdef VARIANT

TIMED(void, memory, (const uint32_t *array, uint64_t length, uint32_t *sum))
{
    for (uint64_t i = 0; i < length; i++)
        *sum += array[i];
}

TIMED(void, local, (const uint32_t *array, uint64_t length, uint32_t *sum))
{
    uint32_t own = *sum;
    for (uint64_t i = 0; i < length; i++)
        own += array[i];
    *sum = own;
}

TIMED(void, memory_told, (const uint32_t *restrict array, uint64_t length, uint32_t *restrict sum))
{
    for (uint64_t i = 0; i < length; i++)
        *sum += array[i];
}

#else

#define MOST 65536

static struct {
    add_up *add;
    uint64_t length;
    uint32_t array[MOST], of_array;
} numbers;

static void setup(struct probe_run *run)
{
    numbers.add = (add_up *)timed_find(run, probe_choice(run, "way"));
    numbers.length = (uint64_t)probe_integer(run, "length");
    numbers.of_array = 0;
    for (uint64_t i = 0; i < numbers.length; i++)
        numbers.of_array += numbers.array[i] = (uint32_t)(i * 40503 + 1);
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t passes = (operations + numbers.length - 1) / numbers.length;
    uint32_t sum = 0;
    probe_start(value);
    for (uint64_t i = 0; i < passes; i++)
        numbers.add(numbers.array, numbers.length, &sum);
    probe_stop(value);
    value->operations = passes * numbers.length;
    probe_count(value, "checked", sum == (uint32_t)passes * numbers.of_array ? value->operations : 0);
}

static const struct probe sum_probe = {
    .title = "sum in memory or in a variable",
    .question = "Does it cost to add numbers up through a pointer instead of in a local variable?",
    .operation = "one number added",
    .source = "the tuning article on code of wzxue.com (2012); Bryant and O'Hallaron, Computer Systems: A "
              "Programmer's Perspective, section 5.6",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){
        {"addition", "s", "lower", "wall", "operations", "time of one addition"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "where the sum is kept", .choices = "memory,local,memory_told",
         .sweep = "memory,local,memory_told", .brief = "memory,local"},
        TIMED_PARAMS,
        {.name = "length", .doc = "numbers of a pass", .unit = "1", .sweep = "1024", .min = 1, .max = MOST},
        {0}},
    .setup = setup,
    .batch = batch,
    .selftest = timed_selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&sum_probe, argc, argv);
}

#endif
