/* SPDX-License-Identifier: Apache-2.0
 * collect - many stackless coroutines, each a chain of awaits, are begun one after the other and collected together.
 *
 * Nobody waits for anything, so each ends before the next begins: what is measured is making them, the awaits, and the
 * collecting. A chain of n awaits alone is depth/lazy.
 *
 * Known answer: the values of all coroutines, in a sum.
 * Overhead: adding the values, under 1 ns each.  Limits: one thread; the outermost frames of all coroutines are alive at
 * once, and those of one chain beside them.
 * Assembly: run_chain contains (call|jmp|blr?|br).*(\*|x[0-9])
 * Source: Lazy_collectAll of alibaba/async_simple's benchmarks: 5000 coroutines of 50 awaits. */
#include "recursion.hpp"

#include <coro/when_all.hpp>

#include <vector>

template <class Frames> static coro::lazy<std::uint64_t, Frames> collect(std::uint64_t tasks, std::uint64_t depth)
{
    std::vector<coro::lazy<std::uint64_t, Frames>> parts;
    parts.reserve(tasks);
    for (std::uint64_t i = 0; i < tasks; i++)
        parts.push_back(sum_by_lazies<Frames, throws::maybe>(depth));
    std::uint64_t sum = 0;
    for (const std::uint64_t value : co_await coro::when_all(std::move(parts)))
        sum += value;
    co_return sum;
}

template <class Frames> static std::uint64_t collected(std::uint64_t tasks, std::uint64_t depth)
{
    auto all = collect<Frames>(tasks, depth);
    run_chain(all.prepare(std::noop_coroutine(), coro::detail::no_environment));
    return all.result().take();
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    const auto tasks = static_cast<std::uint64_t>(probe_integer(run, "tasks"));
    const auto depth = static_cast<std::uint64_t>(probe_integer(run, "depth"));
    const auto sum = probe_is(run, "frames", "pooled") ? collected<coro::pooled_frames> : collected<coro::heap_frames>;
    std::uint64_t right = 0;
    probe_guarded([&] {
        probe_start(value);
        for (std::uint64_t i = 0; i < operations; i++)
            right += sum(tasks, depth) == tasks * recursion_answer(depth);
        probe_stop(value);
    });
    probe_count(value, "awaits", operations * tasks * depth);
    probe_count(value, "checked", right);
}

static constexpr probe_metric metrics[] = {
    {"collect", "s", "lower", "wall", "operations", "time of all coroutines together"},
    {"await", "s", "lower", "wall", "awaits", "the same for each await"},
    {}};

static constexpr probe_param parameters[] = {
    {.name = "tasks",
     .doc = "coroutines that are collected",
     .unit = "1",
     .sweep = "5000",
     .min = 1,
     .max = 100000},
    {.name = "depth",
     .doc = "awaits in the chain of each",
     .unit = "1",
     .sweep = "50",
     .min = 1,
     .max = RECURSION_LEVELS_MAX},
    {.name = "frames",
     .doc = "where coroutine frames live: in a pool of the thread, or on the heap",
     .choices = "pooled,malloc",
     .sweep = "pooled,malloc"},
    {}};

static constexpr probe collect_probe = {
    .title = "C++ coroutines, collected",
    .question = "What does it cost to collect many stackless coroutines?",
    .operation = "`tasks` coroutines made, each awaiting a chain of `depth`, collected and destroyed",
    .source = "alibaba/async_simple at 2db1337d (2022), Lazy_collectAll",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = metrics,
    .params = parameters,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&collect_probe, argc, argv);
}
