/* SPDX-License-Identifier: Apache-2.0
 * inlining - a small function in a loop: called, inlined, left to the compiler, or called through a pointer.
 *
 * The tuning advice: inline functions save the instructions of entering and leaving. A compiler inlines by itself what
 * it sees, unless it does not optimise.
 *
 * way=call: never inlined. inline: always. compiler: as the compiler thinks best. pointer: through a pointer that
 * nobody can see through. What a call costs by itself is in call/direct and call/indirect.
 *
 * Known answer: the sum of the results, reckoned once more outside the timed part.
 * Overhead: a call through a pointer for each pass over 1024 numbers.
 * Limits: independent calls, of which the processor has several in flight; what is inlined may also be done for several
 * numbers at once.
 * Variants: compiler=gcc,clang level=2,0,3
 * Assembly: call__* contains (call|bl)\s
 * Loop: call__* contains (call|bl)\s
 * Loop: pointer__* contains call\s+\*|blr
 * Loop: inline__* lacks (call|bl)\s
 * Loop: compiler__*_O0 contains (call|bl)\s
 * Loop: compiler__*_O[23] lacks (call|bl)\s
 * Source: the tuning article on code of wzxue.com (2012). */
#include "variants.h"

typedef uint32_t sum_of(const uint32_t *array, uint64_t length);

#define SHIFTED(x) (((x) >> 1 ^ (x)) + 3)

#ifdef VARIANT

static __attribute__((noinline)) uint32_t called(uint32_t x)
{
    return SHIFTED(x);
}

static inline __attribute__((always_inline)) uint32_t inlined(uint32_t x)
{
    return SHIFTED(x);
}

static uint32_t left_to_the_compiler(uint32_t x)
{
    return SHIFTED(x);
}

#define WAY(name, function)                                                                                            \
    TIMED(uint32_t, name, (const uint32_t *array, uint64_t length))                                                    \
    {                                                                                                                  \
        uint32_t sum = 0;                                                                                              \
        for (uint64_t i = 0; i < length; i++)                                                                          \
            sum += function(array[i]);                                                                                 \
        return sum;                                                                                                    \
    }

WAY(call, called)
WAY(inline, inlined)
WAY(compiler, left_to_the_compiler)

TIMED(uint32_t, pointer, (const uint32_t *array, uint64_t length))
{
    uint32_t (*function)(uint32_t) = called, sum = 0;
    __asm__ volatile("" : "+r"(function));
    for (uint64_t i = 0; i < length; i++)
        sum += function(array[i]);
    return sum;
}

#else

#define LENGTH UINT64_C(1024)

static struct {
    sum_of *sum;
    uint32_t array[LENGTH], of_array;
} numbers;

static void setup(struct probe_run *run)
{
    numbers.sum = (sum_of *)timed_find(run, probe_choice(run, "way"));
    numbers.of_array = 0;
    for (uint64_t i = 0; i < LENGTH; i++) {
        numbers.array[i] = (uint32_t)(i * 2654435761u);
        numbers.of_array += SHIFTED(numbers.array[i]);
    }
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    uint64_t passes = (operations + LENGTH - 1) / LENGTH;
    uint32_t sum = 0;
    probe_start(value);
    for (uint64_t i = 0; i < passes; i++)
        sum += numbers.sum(numbers.array, LENGTH);
    probe_stop(value);
    value->operations = passes * LENGTH;
    probe_count(value, "checked", sum == (uint32_t)passes * numbers.of_array ? value->operations : 0);
}

static const struct probe inlining_probe = {
    .title = "small function, inlined or called",
    .question = "What does a loop gain when the small function in it is inlined?",
    .operation = "one number passed through a function of three instructions and added",
    .source = "the tuning article on code of wzxue.com (2012)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){{"turn", "s", "lower", "wall", "operations", "time of one number"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "what becomes of the call", .choices = "call,inline,compiler,pointer",
         .sweep = "call,inline,compiler,pointer", .brief = "call,inline"},
        TIMED_PARAMS,
        {0}},
    .setup = setup,
    .batch = batch,
    .selftest = timed_selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&inlining_probe, argc, argv);
}

#endif
