/* SPDX-License-Identifier: Apache-2.0
 * collect_pool - many stackless coroutines, each a chain of awaits, shared by the threads of a pool and collected.
 *
 * depth/collect on 1 to 1024 threads: what is left of its cost when several threads share the chains, which a thread
 * that has nothing takes from another one by one.
 *
 * Known answer: the values of all coroutines, in a sum.
 * Overhead: adding the values, under 1 ns each.  Limits: the outermost frames of all coroutines are made by one thread.
 * Assembly: collect_on contains (call|bl)
 * Source: Lazy_collectAll of alibaba/async_simple's benchmarks: 5000 coroutines of 50 awaits, here on a pool. */
#include "pooled.hpp"
#include "recursion.hpp"

#include <coro/parallel.hpp>

#include <vector>

static coro::lazy<std::uint64_t> collect(std::uint64_t tasks, std::uint64_t depth)
{
    std::vector<coro::lazy<std::uint64_t>> parts;
    parts.reserve(tasks);
    for (std::uint64_t i = 0; i < tasks; i++)
        parts.push_back(sum_by_lazies<coro::pooled_frames, throws::maybe>(depth));
    std::uint64_t sum = 0;
    for (const std::uint64_t value : co_await coro::parallel(std::move(parts)))
        sum += value;
    co_return sum;
}

extern "C" [[gnu::noinline]] std::uint64_t collect_on(coro::pool &on, std::uint64_t tasks, std::uint64_t depth)
{
    return coro::sync_wait(collect(tasks, depth), &on);
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    coro::pool &on = pool_of(run);
    const auto tasks = static_cast<std::uint64_t>(probe_integer(run, "tasks"));
    const auto depth = static_cast<std::uint64_t>(probe_integer(run, "depth"));
    std::uint64_t right = 0;
    probe_guarded([&] {
        probe_start(value);
        for (std::uint64_t i = 0; i < operations; i++)
            right += collect_on(on, tasks, depth) == tasks * recursion_answer(depth);
        probe_stop(value);
    });
    probe_count(value, "awaits", operations * tasks * depth);
    probe_count(value, "checked", right);
}

static constexpr probe_metric metrics[] = {
    {"collect", "s", "lower", "wall", "operations", "time of all coroutines together, by all threads"},
    {"await", "s", "lower", "wall", "awaits", "the same for each await"},
    {"collect_cpu", "s", "lower", "cpu", "operations", "CPU time of all threads for it"},
    {}};

static constexpr probe_param parameters[] = {
    {.name = "tasks", .doc = "coroutines that are collected", .unit = "1", .sweep = "5000", .min = 1, .max = 100000},
    {.name = "depth",
     .doc = "awaits in the chain of each",
     .unit = "1",
     .sweep = "50",
     .min = 1,
     .max = RECURSION_LEVELS_MAX},
    pool_threads, {}};

static constexpr probe collect_pool_probe = {
    .title = "C++ coroutines, collected on a pool",
    .question = "What does it cost to collect many stackless coroutines that several threads share?",
    .operation = "`tasks` coroutines made, each awaiting a chain of `depth`, collected and destroyed",
    .source = "alibaba/async_simple at 2db1337d (2022), Lazy_collectAll, on a pool",
    .statistic = "lower_quartile",
    .placements = "free",
    .uses = "cpu,sched",
    .metrics = metrics,
    .params = parameters,
    .setup = make_pool,
    .batch = batch,
    .teardown = end_pool,
};

int main(int argc, char **argv)
{
    return probe_main(&collect_pool_probe, argc, argv);
}
