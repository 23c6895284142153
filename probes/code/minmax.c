/* SPDX-License-Identifier: Apache-2.0
 * minmax - two arrays put in order pair by pair, by a branch or by choosing values.
 *
 * The tuning advice: `if (a[i] > b[i]) swap` leaves the compiler a branch, which is mispredicted where the data is
 * random; `min = a[i] < b[i] ? a[i] : b[i]` and the like lets it use a conditional move.
 *
 * way=branch: swap if out of order. choose: smaller and larger one chosen, and stored in any case.
 * data=random: every other pair is out of order, nobody knows which. sorted: first those in order, then those out of
 * order. periodic: four in order, four out of order, and so on.
 *
 * Known answer: each pair, compared with the pair that it was.
 * Overhead: 4096 pairs are copied anew before each pass, because a pass puts them in order: 8 bytes a pair.
 * Limits: passes take one of 64 sets of pairs, at random: of a single one some predictors remember each pair.
 * Variants: compiler=gcc,clang level=2,0,3
 * Assembly: branch__* contains \bj[a-z]+\b|\bb\.[a-z]+\b
 * Loop: choose__gcc_O2 contains cmov|\bcsel\b|pcmpgt|pminsd
 * Source: the tuning article on code of wzxue.com (2012), whose second function lacks an index; Bryant and O'Hallaron,
 * Computer Systems: A Programmer's Perspective, section 5.11.2. */
#include "variants.h"

typedef void order_pairs(int32_t *a, int32_t *b, uint64_t pairs);

#ifdef VARIANT

TIMED(void, branch, (int32_t *a, int32_t *b, uint64_t pairs))
{
    for (uint64_t i = 0; i < pairs; i++) {
        if (a[i] > b[i]) {
            int32_t t = a[i];
            a[i] = b[i];
            b[i] = t;
        }
    }
}

TIMED(void, choose, (int32_t *a, int32_t *b, uint64_t pairs))
{
    for (uint64_t i = 0; i < pairs; i++) {
        int32_t min = a[i] < b[i] ? a[i] : b[i];
        int32_t max = a[i] < b[i] ? b[i] : a[i];
        a[i] = min;
        b[i] = max;
    }
}

#else

#define PAIRS UINT64_C(4096)
#define SETS UINT64_C(64)

static struct {
    order_pairs *order;
    uint64_t random;
    int32_t a[PAIRS], b[PAIRS], first_a[SETS][PAIRS], first_b[SETS][PAIRS];
} arrays;

static uint64_t next_random(void)
{
    arrays.random = arrays.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return arrays.random >> 40;
}

static bool out_of_order(struct probe_run *run, uint64_t i)
{
    if (probe_is(run, "data", "sorted"))
        return i >= PAIRS / 2;
    return (probe_is(run, "data", "periodic") ? i >> 2 : next_random()) & 1;
}

static void setup(struct probe_run *run)
{
    arrays.order = (order_pairs *)timed_find(run, probe_choice(run, "way"));
    arrays.random = UINT64_C(88172645463325252);
    for (uint64_t set = 0; set < SETS; set++)
        for (uint64_t i = 0; i < PAIRS; i++) {
            int32_t low = (int32_t)(i % 1000), high = low + 1 + (int32_t)(i % 7);
            bool turned = out_of_order(run, i);
            arrays.first_a[set][i] = turned ? high : low;
            arrays.first_b[set][i] = turned ? low : high;
        }
}

static bool in_order(uint64_t set)
{
    for (uint64_t i = 0; i < PAIRS; i++) {
        int32_t a = arrays.first_a[set][i], b = arrays.first_b[set][i];
        if (arrays.a[i] != (a < b ? a : b) || arrays.b[i] != (a < b ? b : a))
            return false;
    }
    return true;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t passes = (operations + PAIRS - 1) / PAIRS, set = 0;
    probe_start(value);
    for (uint64_t i = 0; i < passes; i++) {
        set = next_random() % SETS;
        memcpy(arrays.a, arrays.first_a[set], sizeof arrays.a);
        memcpy(arrays.b, arrays.first_b[set], sizeof arrays.b);
        arrays.order(arrays.a, arrays.b, PAIRS);
    }
    probe_stop(value);
    value->operations = passes * PAIRS;
    probe_count(value, "checked", in_order(set) ? value->operations : 0);
}

static const struct probe minmax_probe = {
    .title = "minimum and maximum",
    .question = "Is it cheaper to choose the smaller and the larger number than to swap them if need be?",
    .operation = "one pair put in order, with the copying of its numbers",
    .source = "the tuning article on code of wzxue.com (2012); Bryant and O'Hallaron, Computer Systems: A "
              "Programmer's Perspective, section 5.11.2",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){{"pair", "s", "lower", "wall", "operations", "time of one pair"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "how a pair is put in order", .choices = "branch,choose", .sweep = "branch,choose"},
        {.name = "data", .doc = "which pairs are out of order", .choices = "random,sorted,periodic",
         .sweep = "random,sorted,periodic", .brief = "random"},
        TIMED_PARAMS,
        {0}},
    .setup = setup,
    .batch = batch,
    .selftest = timed_selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&minmax_probe, argc, argv);
}

#endif
