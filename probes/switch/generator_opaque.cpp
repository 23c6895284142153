/* SPDX-License-Identifier: Apache-2.0
 * generator_opaque - the next value of a generator that the compiler cannot see into: it is resumed, and yields.
 *
 * The generator comes from a function of which the reader knows nothing, as one does that comes from another file. So
 * no compiler can do without its frame and the indirect call. Compare switch/generator_elided, where it can.
 *
 * Known answer: the sum of the values.
 * Overhead: adding the value, under 1 ns.  Limits: one frame in the cache; an indirect call that the branch predictor knows.
 * Assembly: take_values contains (call|blr).*(\*|x[0-9])
 * Source: Generator_pure_switch of alibaba/async_simple's benchmarks, of which the compiler left nothing but a loop. */
#include "take_values.hpp"

#include <coro/generator.hpp>

using numbers = coro::generator<std::uint64_t>;

[[gnu::noinline]] static numbers count_up()
{
    for (std::uint64_t i = 0;; i++)
        co_yield i;
}

extern "C" [[gnu::noinline]] std::uint64_t take_values(numbers &from, std::uint64_t count)
{
    return sum_of(from, count);
}

struct reader {
    numbers from = count_up();
    std::uint64_t taken = 0;
};

static void setup(probe_run *run)
{
    probe_guarded([run] { run->state = new reader; });
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    auto &of = *static_cast<reader *>(run->state);
    in_out_batch(operations, value, [&](std::uint64_t count) {
        const std::uint64_t sum = take_values(of.from, count), first = of.taken;
        of.taken += count;
        return proven_by(sum, count, first);
    });
}

static void teardown(probe_run *run)
{
    delete static_cast<reader *>(run->state);
}

static constexpr probe generator_opaque_probe = {
    .title = "C++ generator",
    .question = "What does the next value of a C++ generator cost, where the compiler cannot see into it?",
    .operation = "one switch, one way: into the generator, or back out with a value; no creation",
    .source = "alibaba/async_simple at 2db1337d (2022), Generator_pure_switch; ISO C++20, coroutine_handle",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = in_out_metrics,
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&generator_opaque_probe, argc, argv);
}
