/* SPDX-License-Identifier: Apache-2.0
 * crossover - the depth from which on a recursion is cheaper on the stack of a fiber than by stackless coroutines.
 *
 * Stackless pays a frame and two transfers a level, stackful a stack and two switches once: n levels cost a + b n either
 * way, with a small a and a large b here, the other way round there. Both lines are laid through recursions of 4 and of
 * 256 levels, which alternate in one process, and they meet at the crossover. It is below 1 where a fiber is cheaper at
 * any depth. A third depth between them, 32, tells how far the lines are from the truth.
 *
 * Known answer: all sums; lines that are known meet where they should.
 * Overhead: comparing the sums, in both.  Limits: two points each: what a cache that is full does beyond 256 levels is
 * not in it, see the curves of depth/lazy and depth/fiber; frames and stacks are warm, and nobody waits for anything.
 * Assembly: sum_by_calls contains (call|bl).*<sum_by_calls
 * Source: the reasoning of alibaba/async_simple's study: many small allocations against a large one, and its call_depth. */
#include "recursion.hpp"

static constexpr std::uint64_t shallow = 4, between = 32, deep = 256;

struct line {
    double fixed, level; /* seconds */

    static line through(double at_shallow, double at_deep)
    {
        const double level = (at_deep - at_shallow) / static_cast<double>(deep - shallow);
        return {at_shallow - level * static_cast<double>(shallow), level};
    }
    [[nodiscard]] double at(std::uint64_t depth) const
    {
        return fixed + level * static_cast<double>(depth);
    }
};

/* Where the two are equal. pre: `steep` grows faster. */
static double meeting(const line &steep, const line &flat)
{
    return (flat.fixed - steep.fixed) / (steep.level - flat.level);
}

struct timing {
    recursion sum;
    std::uint64_t ns[3], right;
};

static constexpr std::uint64_t depths[] = {shallow, between, deep};

static recursion recursion_by_stack(const probe_run *run)
{
    return probe_is(run, "stack", "pooled") ? by_fiber : by_made_fiber<malloc_stack>;
}

/* Seconds of one recursion. */
static double seconds(const timing &of, int depth, std::uint64_t times)
{
    return static_cast<double>(of.ns[depth]) / 1e9 / static_cast<double>(times);
}

static double misfit(const line &of, const timing &measured, std::uint64_t times)
{
    return seconds(measured, 1, times) / of.at(between);
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    timing lazies{recursion_by_lazies(run, throws::maybe), {}, 0}, fibers{recursion_by_stack(run), {}, 0};
    /* In slices, so that whatever disturbs hits all alike; a slice is many times a clock reading. */
    const std::uint64_t slices = operations < 1000 ? 1 : 10, times = (operations + slices - 1) / slices;
    value->operations = slices * times;
    probe_guarded([&] {
        probe_start(value);
        for (std::uint64_t slice = 0; slice < slices; slice++)
            for (timing *each : {&lazies, &fibers})
                for (int depth = 0; depth < 3; depth++) {
                    const std::uint64_t start = probe_now_ns();
                    each->right += recur(each->sum, depths[depth], times);
                    each->ns[depth] += probe_now_ns() - start;
                }
        probe_stop(value);
    });
    const line stackless = line::through(seconds(lazies, 0, value->operations), seconds(lazies, 2, value->operations));
    const line stackful = line::through(seconds(fibers, 0, value->operations), seconds(fibers, 2, value->operations));
    const bool meet = stackless.level > stackful.level;
    probe_count(value, "meet", meet);
    probe_reading(value, "crossover", meet ? meeting(stackless, stackful) : 0);
    probe_reading(value, "stackless_level", stackless.level);
    probe_reading(value, "stackful_level", stackful.level);
    probe_reading(value, "stackful_fixed", stackful.fixed);
    probe_reading(value, "stackless_misfit", misfit(stackless, lazies, value->operations));
    probe_reading(value, "stackful_misfit", misfit(stackful, fibers, value->operations));
    const std::uint64_t all = 6 * value->operations;
    probe_count(value, "checked", lazies.right + fibers.right == all ? value->operations : 0);
}

static void selftest(probe_run *run)
{
    (void)run;
    /* 1 + 3 n and 41 + n meet at 20. */
    const double depth = meeting(line::through(1 + 3 * shallow, 1 + 3 * deep), line::through(41 + shallow, 41 + deep));
    if (depth < 19.999 || depth > 20.001)
        probe_fail("lines that meet at 20 were said to meet at %g", depth);
}

static constexpr probe_metric metrics[] = {
    {"crossover", "1", "neither", "crossover", "meet", "levels at which both cost the same; beyond it the fiber is cheaper"},
    {"stackless_level", "s", "lower", "stackless_level", "one", "what one more level costs by stackless coroutines"},
    {"stackful_level", "s", "lower", "stackful_level", "one", "what one more level costs by calls on the stack of a fiber"},
    {"stackful_fixed", "s", "lower", "stackful_fixed", "one", "what the fiber costs before the first level"},
    {"stackless_misfit", "1", "neither", "stackless_misfit", "one", "measured over predicted at 32 levels, stackless"},
    {"stackful_misfit", "1", "neither", "stackful_misfit", "one", "measured over predicted at 32 levels, stackful"},
    {}};
static constexpr probe_param parameters[] = {recursion_frames,
                                             {.name = "stack",
                                              .doc = "where the fiber's stack of 512 KiB comes from; one that is not "
                                                     "pooled is entered by the switch of every register",
                                              .choices = "pooled,malloc",
                                              .sweep = "pooled,malloc",
                                              .brief = "pooled"},
                                             {}};

static constexpr probe crossover_probe = {
    .title = "C++ depth from which a stack is cheaper",
    .question = "From which depth on is a recursion cheaper on the stack of a fiber than by stackless coroutines?",
    .operation = "six recursions: of 4, 32 and 256 levels, by stackless coroutines and on a fiber made for it",
    .source = "alibaba/async_simple at 2db1337d (2022), call_depth",
    .statistic = "median",
    .placements = "same",
    .uses = "cpu",
    .metrics = metrics,
    .params = parameters,
    .batch = batch,
    .selftest = selftest,
};

int main(int argc, char **argv)
{
    return probe_main(&crossover_probe, argc, argv);
}
