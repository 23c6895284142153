/* SPDX-License-Identifier: Apache-2.0
 * quicksort - numbers sorted by a quicksort that takes the first one or the middle one as pivot.
 *
 * The advice: beware of coding mistakes that change the order of growth, such as those that make quicksort n². With the
 * first number as pivot, sorted numbers do.
 *
 * Known answer: the sorted numbers.
 * Overhead: the numbers are copied anew before each sort.
 * Limits: 1024 numbers; the gap grows with their number.
 * Assembly: sort contains (call|bl)\s
 * Source: the tuning article on code of wzxue.com (2012); Hoare, Quicksort, The Computer Journal 5 (1962). */
#include "probe.h"

#include <string.h>

#define MOST 65536

static struct {
    uint64_t count;
    int32_t list[MOST], first[MOST];
    bool middle;
} numbers;

/* Sorts list[0] … list[count - 1], by the partition that Hoare gave. Calls itself for the smaller part and goes on with
 * the larger one, so that sorted numbers take time and not the stack. */
static __attribute__((noinline)) void sort(int32_t *list, int64_t count, bool middle)
{
    while (count > 1) {
        int32_t pivot = list[middle ? (count - 1) / 2 : 0];
        int64_t left = -1, right = count;
        for (;;) {
            do
                left++;
            while (list[left] < pivot);
            do
                right--;
            while (list[right] > pivot);
            if (left >= right)
                break;
            int32_t other = list[left];
            list[left] = list[right];
            list[right] = other;
        }
        int64_t lower = right + 1, upper = count - lower;
        if (lower < upper) {
            sort(list, lower, middle);
            list += lower;
            count = upper;
        } else {
            sort(list + lower, upper, middle);
            count = lower;
        }
    }
}

/* A number that is odd times each index modulo 2^16 comes to every one of 2^16 once, so no two are equal. */
static void setup(struct probe_run *run)
{
    numbers.count = (uint64_t)probe_integer(run, "count");
    numbers.middle = probe_is(run, "pivot", "middle");
    for (uint64_t i = 0; i < numbers.count; i++)
        numbers.first[i] = probe_is(run, "order", "sorted") ? (int32_t)i : (int32_t)(i * 40503 % MOST);
}

static bool is_sorted(void)
{
    uint64_t sum = 0, first_sum = 0;
    for (uint64_t i = 0; i < numbers.count; i++) {
        sum += (uint64_t)numbers.list[i];
        first_sum += (uint64_t)numbers.first[i];
        if (i && numbers.list[i - 1] >= numbers.list[i])
            return false;
    }
    return sum == first_sum;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t sorts = (operations + numbers.count - 1) / numbers.count;
    probe_start(value);
    for (uint64_t i = 0; i < sorts; i++) {
        memcpy(numbers.list, numbers.first, numbers.count * sizeof *numbers.list);
        sort(numbers.list, (int64_t)numbers.count, numbers.middle);
    }
    probe_stop(value);
    value->operations = sorts * numbers.count;
    probe_count(value, "checked", is_sorted() ? value->operations : 0);
}

static const struct probe quicksort_probe = {
    .title = "quicksort",
    .question = "What does it cost to give quicksort the wrong pivot?",
    .operation = "one number's share of sorting all",
    .source = "the tuning article on code of wzxue.com (2012); Hoare, Quicksort, The Computer Journal 5 (1962)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){
        {"number", "s", "lower", "wall", "operations", "time of sorting, divided by the numbers"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "pivot", .doc = "the number that parts the others", .choices = "first,middle",
         .sweep = "first,middle"},
        {.name = "order", .doc = "of the numbers", .choices = "sorted,random", .sweep = "sorted,random",
         .brief = "sorted"},
        {.name = "count", .doc = "numbers to sort", .unit = "1", .sweep = "1024", .min = 2, .max = MOST},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&quicksort_probe, argc, argv);
}
