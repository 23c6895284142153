/* SPDX-License-Identifier: Apache-2.0
 * openmp - a binary tree of forks by tasks of OpenMP, in a team of 1 to 1024 threads.
 *
 * Known answer: the leaves' numbers add up to n(n+1)/2, and n forks were counted.
 * Overhead: adding two pairs of numbers, under 1 ns.  Limits: as parallel/coro. One half is a task, the other one a
 * call. libgomp runs a task at once, by its maker, when 64 a thread are waiting.
 * Assembly: split_by_tasks contains (call|bl).*(GOMP_task|__kmpc_omp_task)
 * Needs: OpenMP OpenMP_CXX, libgomp1 in Debian.
 * Source: OpenMP 5.2, 12.5, task construct; Barcelona OpenMP Tasks Suite (ICPP 2009), fib. */
#include "tree.hpp"

extern "C" [[gnu::noinline]] harvest split_by_tasks(leaves part)
{
    if (part.count == 1)
        return harvest::of_leaf(part);
    harvest lower{};
#pragma omp task shared(lower) firstprivate(part)
    lower = split_by_tasks(part.lower());
    const harvest upper = split_by_tasks(part.upper());
#pragma omp taskwait
    return lower + upper;
}

static void setup(probe_run *run)
{
    threads_of(run);
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    const unsigned threads = threads_of(run);
    harvest all{};
    probe_start(value);
#pragma omp parallel num_threads(threads)
#pragma omp single
    all = split_by_tasks({0, operations + 1});
    probe_stop(value);
    probe_count(value, "checked", all.proven(operations));
}

static constexpr probe openmp_probe = {
    .title = "C++ tasks, OpenMP",
    .question = "What does a fork cost whose halves may run at the same time?",
    .operation = "one fork of a binary tree and the join of its halves, by an OpenMP task",
    .source = "OpenMP 5.2, task construct; Barcelona OpenMP Tasks Suite (ICPP 2009), fib",
    .statistic = "lower_quartile",
    .placements = "free",
    .uses = "cpu,sched",
    .family = "fork",
    .metrics = tree_metrics,
    .params = tree_parameters,
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&openmp_probe, argc, argv);
}
