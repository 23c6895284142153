/* SPDX-License-Identifier: Apache-2.0
 * coro - a binary tree of forks by parallel() of engines/coro, on a pool of 1 to 1024 threads.
 *
 * Known answer: the leaves' numbers add up to n(n+1)/2, and n forks were counted.
 * Overhead: adding two pairs of numbers, under 1 ns.  Limits: the leaves do nothing, so this is the price of a fork and
 * no more; the tree is as deep as the logarithm of the batch. A fork is two coroutine frames from a pool.
 * Assembly: grow_tree contains (call|bl).*split
 * Source: Frigo, Leiserson & Randall, The Implementation of the Cilk-5 Multithreaded Language (PLDI 1998). */
#include "tree.hpp"

#include <coro/parallel.hpp>
#include <coro/spawn.hpp>

[[gnu::noinline]] static coro::lazy<harvest> split(leaves part)
{
    if (part.count == 1)
        co_return harvest::of_leaf(part);
    const auto [lower, upper] = co_await coro::parallel(split(part.lower()), split(part.upper()));
    co_return lower + upper;
}

extern "C" [[gnu::noinline]] harvest grow_tree(coro::pool &on, std::uint64_t forks)
{
    return coro::sync_wait(split({0, forks + 1}), &on);
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    probe_guarded([&] {
        probe_start(value);
        const harvest all = grow_tree(pool_of(run), operations);
        probe_stop(value);
        probe_count(value, "checked", all.proven(operations));
    });
}

static constexpr probe coro_probe = {
    .title = "C++ coroutines",
    .question = "What does a fork cost whose halves may run at the same time?",
    .operation = "one fork of a binary tree and the join of its halves, of coroutines on a pool that steal from each other",
    .source = "Frigo, Leiserson & Randall, The Implementation of the Cilk-5 Multithreaded Language (PLDI 1998)",
    .statistic = "lower_quartile",
    .placements = "free",
    .uses = "cpu,sched",
    .family = "fork",
    .metrics = tree_metrics,
    .params = tree_parameters,
    .setup = make_pool,
    .batch = batch,
    .teardown = end_pool,
};

int main(int argc, char **argv)
{
    return probe_main(&coro_probe, argc, argv);
}
