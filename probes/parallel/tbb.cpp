/* SPDX-License-Identifier: Apache-2.0
 * tbb - a binary tree of forks by the task groups of Threading Building Blocks, in an arena of 1 to 1024 threads.
 *
 * Known answer: the leaves' numbers add up to n(n+1)/2, and n forks were counted.
 * Overhead: adding two pairs of numbers, under 1 ns.  Limits: as parallel/coro. One half is a task, the other one a call.
 * Assembly: split_by_tasks contains (call|bl).*spawn
 * Needs: TBB tbb, libtbb-dev in Debian.
 * Source: Reinders, Intel Threading Building Blocks (2007), recursive parallelism. */
#include "tree.hpp"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

struct threads {
    explicit threads(unsigned count)
        : limit(tbb::global_control::max_allowed_parallelism, count), arena(static_cast<int>(count))
    {
    }
    tbb::global_control limit;
    tbb::task_arena arena;
};

extern "C" [[gnu::noinline]] harvest split_by_tasks(leaves part)
{
    if (part.count == 1)
        return harvest::of_leaf(part);
    harvest lower{};
    tbb::task_group group;
    group.run([&] { lower = split_by_tasks(part.lower()); });
    const harvest upper = split_by_tasks(part.upper());
    group.wait();
    return lower + upper;
}

static void setup(probe_run *run)
{
    probe_guarded([run] { run->state = new threads(threads_of(run)); });
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    probe_guarded([&] {
        probe_start(value);
        const harvest all = static_cast<threads *>(run->state)->arena.execute([=] { return split_by_tasks({0, operations + 1}); });
        probe_stop(value);
        probe_count(value, "checked", all.proven(operations));
    });
}

static void teardown(probe_run *run)
{
    delete static_cast<threads *>(run->state);
}

static constexpr probe tbb_probe = {
    .title = "C++ tasks, TBB",
    .question = "What does a fork cost whose halves may run at the same time?",
    .operation = "one fork of a binary tree and the join of its halves, by a tbb::task_group",
    .source = "Reinders, Intel Threading Building Blocks (2007), recursive parallelism",
    .statistic = "lower_quartile",
    .placements = "free",
    .uses = "cpu,sched",
    .family = "fork",
    .metrics = tree_metrics,
    .params = tree_parameters,
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&tbb_probe, argc, argv);
}
