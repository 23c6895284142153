/* SPDX-License-Identifier: Apache-2.0
 * atomic - one step on one number: add, compare and swap, exchange, bit test, or plain, in strong order and in weak; by
 * one thread alone or by several that want the same number.
 *
 * Known answer: additions and swaps add up; of values that are exchanged those put in are those taken out and the last
 * one; each thread finds its own bit as it left it. A plain addition by several threads loses counts, and is refused.
 * Overhead: a turn of the loop, under 1 ns, mostly beside the step.
 * Limits: on x86-64 an atomic step is a full barrier whatever order was asked for, so that step=add_relaxed is
 * step=add; on others it is not. Contended, the figure is CPU time: the threads wait for the line and not for each
 * other.
 * Assembly: add_all contains lock (xadd|add|inc)|ldadd|ldaxr|<__aarch64_ldadd
 * Assembly: swap_all contains lock cmpxchg|\bcas|ldaxr|<__aarch64_cas
 * Assembly: exchange_all contains xchg|\bswp|ldaxr|<__aarch64_swp
 * Assembly: flip_all contains lock (btc|xor|cmpxchg)|ldeor|ldaxr|<__aarch64_ldeor
 * Assembly: store_all contains xchg|mfence|stlr
 * Source: Schweizer, Besta & Hoefler, Evaluating the Cost of Atomic Operations on Modern Architectures (PACT 2015). */
#include "together.h"
#include "words.h"

#define STEPS(X) \
    X(add) X(plain) X(store_release) X(store) X(add_relaxed) X(compare_and_swap) X(exchange) X(bit_test)
#define STEP(word) STEP_##word,
enum step { STEPS(STEP) };

struct wanted {
    _Alignas(PROBE_CACHE_LINE) uint64_t number;
    _Alignas(PROBE_CACHE_LINE) enum step step;
    uint64_t taken_less_put; /* of all exchanges; wraps */
};

struct contest {
    struct together *together;
    struct wanted *wanted;
};

static __attribute__((noinline)) void add_plainly(volatile uint64_t *number, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++)
        (*number)++;
}

static __attribute__((noinline)) void store_all_release(uint64_t *number, uint64_t times)
{
    for (uint64_t i = 1; i <= times; i++)
        __atomic_store_n(number, i, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) void store_all(uint64_t *number, uint64_t times)
{
    for (uint64_t i = 1; i <= times; i++)
        __atomic_store_n(number, i, __ATOMIC_SEQ_CST);
}

static __attribute__((noinline)) void add_all(uint64_t *number, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++)
        __atomic_fetch_add(number, 1, __ATOMIC_SEQ_CST);
}

static __attribute__((noinline)) void add_all_relaxed(uint64_t *number, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++)
        __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

/* As a lock-free addition does it: what it finds instead is what it tries next. */
static __attribute__((noinline)) void swap_all(uint64_t *number, uint64_t times)
{
    uint64_t expected = __atomic_load_n(number, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < times; i++) {
        while (!__atomic_compare_exchange_n(number, &expected, expected + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            ;
        expected++;
    }
}

/* The sum of what was taken out less what was put in. */
static __attribute__((noinline)) uint64_t exchange_all(uint64_t *number, uint64_t first, uint64_t times)
{
    uint64_t difference = 0;
    for (uint64_t i = first; i < first + times; i++)
        difference += __atomic_exchange_n(number, i, __ATOMIC_SEQ_CST) - i;
    return difference;
}

/* How often the bit was found as it had been left. */
static __attribute__((noinline)) uint64_t flip_all(uint64_t *number, uint64_t bit, uint64_t times)
{
    uint64_t mask = UINT64_C(1) << bit, right = 0, left_as = __atomic_load_n(number, __ATOMIC_RELAXED) & mask;
    for (uint64_t i = 0; i < times; i++) {
        right += (__atomic_fetch_xor(number, mask, __ATOMIC_SEQ_CST) & mask) == left_as;
        left_as ^= mask;
    }
    return right;
}

static uint64_t do_part(void *shared, int index, uint64_t operations)
{
    struct wanted *wanted = shared;
    uint64_t *number = &wanted->number;
    switch (wanted->step) {
    case STEP_plain:
        add_plainly(number, operations);
        return operations;
    case STEP_store_release:
        store_all_release(number, operations);
        return operations;
    case STEP_store:
        store_all(number, operations);
        return operations;
    case STEP_add:
        add_all(number, operations);
        return operations;
    case STEP_add_relaxed:
        add_all_relaxed(number, operations);
        return operations;
    case STEP_compare_and_swap:
        swap_all(number, operations);
        return operations;
    case STEP_exchange: {
        uint64_t difference = exchange_all(number, (uint64_t)index << 40, operations);
        __atomic_fetch_add(&wanted->taken_less_put, difference, __ATOMIC_RELAXED);
        return operations;
    }
    case STEP_bit_test:
        break;
    }
    return flip_all(number, (uint64_t)index, operations);
}

/* Of stores only the last can be seen: it must be the last one of some thread. */
static bool number_is_right(const struct contest *contest, uint64_t operations)
{
    const struct wanted *wanted = contest->wanted;
    switch (wanted->step) {
    case STEP_store_release:
    case STEP_store:
        for (int i = 0; i < contest->together->threads; i++)
            if (wanted->number == part_of(contest->together, i))
                return true;
        return false;
    case STEP_exchange:
        return wanted->number + wanted->taken_less_put == 0;
    case STEP_bit_test:
        return true; /* each flip was checked */
    default:
        return wanted->number == operations;
    }
}

static void setup(struct probe_run *run)
{
    static struct contest contest;
    int threads = (int)probe_integer(run, "threads");
    contest.wanted = probe_share(sizeof *contest.wanted);
    contest.wanted->step = word_number(run, "step", WORDS(STEPS));
    if (contest.wanted->step == STEP_plain && threads > 1)
        probe_skip("plain additions of several threads lose counts");
    contest.together = together_new(run, threads, do_part, contest.wanted);
    run->state = &contest;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    struct contest *contest = run->state;
    contest->wanted->number = contest->wanted->taken_less_put = 0;
    uint64_t proven = together_run(run, contest->together, operations, value);
    probe_count(value, "checked", number_is_right(contest, operations) ? proven : 0);
}

static void teardown(struct probe_run *run)
{
    struct contest *contest = run->state;
    together_end(run, contest->together);
}

static const struct probe atomic_probe = {
    .title = "atomic step on a number",
    .question = "What does an atomic step on a number cost, alone and wanted by several CPUs?",
    .operation = "one step on the shared number by any of the threads; CPU time of all that work",
    .source = "Schweizer, Besta & Hoefler, Evaluating the Cost of Atomic Operations on Modern Architectures (PACT "
              "2015)",
    .statistic = "median",
    .placements = "cross,same",
    .uses = "cpu",
    .value_ms = 1,
    .metrics = (const struct probe_metric[]){
        {"step", "s", "lower", "wall", "operations", "time of a step on the CPU that makes it"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "step", .doc = "what is done with the number",
         .choices = WORDS(STEPS), .sweep = WORDS(STEPS),
         .brief = "add,compare_and_swap"},
        {.name = "threads", .doc = "threads that want the number", .unit = "1", .sweep = "1,2", .min = 1,
         .max = MOST_THREADS},
        {0}},
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&atomic_probe, argc, argv);
}
