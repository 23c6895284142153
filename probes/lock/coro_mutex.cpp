/* SPDX-License-Identifier: Apache-2.0
 * coro_mutex - one mutex of engines/coro that 1 to 65536 coroutines take and release on a pool of 1 to 1024 threads.
 *
 * The mutex is fair: who releases it hands it to the one that has waited longest. But nobody waits on one thread, as
 * long as a coroutine that has it does not suspend: inside=nothing is then an uncontended pair, and `changed_fraction`
 * says so. With inside=yield each lets the others run while it has the mutex, so that all of them queue up and each
 * release changes the owner.
 *
 * Known answer: a plain number that the mutex guards comes out as the sum of what each has done.
 * Overhead: the bookkeeping inside the mutex, 1 to 2 ns a pair; inside=yield has a turn through the pool's queue in it,
 * which switch/pool measures.  Limits: all begin with the batch and end with it.
 * Assembly: contend_all contains (call|bl)
 * Source: the question of lock/go_mutex and lock/handoff for coroutines in C++ (shell909090/context, 2014). */
#include "pooled.hpp"

#include <coro/mutex.hpp>

struct contest {
    coro::mutex mutex;
    /* What it guards. */
    std::uint64_t pairs = 0, changes = 0;
    std::int64_t owner = -1;
    coro::latch left;
    std::uint64_t times;
    bool yields;

    contest(std::uint64_t contexts, std::uint64_t each, bool yielding) : left(contexts), times(each), yields(yielding)
    {
    }
};

static coro::lazy<> contend(contest &of, std::int64_t who)
{
    for (std::uint64_t i = 0; i < of.times; i++) {
        const auto hold = co_await of.mutex.lock();
        const std::uint64_t before = of.pairs;
        of.changes += of.owner != who;
        of.owner = who;
        if (of.yields)
            co_await coro::yield();
        of.pairs = before + 1;
    }
    of.left.count_down();
}

extern "C" [[gnu::noinline]] void contend_all(coro::pool &on, contest &of, std::int64_t contexts)
{
    for (std::int64_t who = 0; who < contexts; who++)
        coro::spawn(on, contend(of, who));
    wait_for(of.left);
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    const auto contexts = static_cast<std::uint64_t>(probe_integer(run, "contexts"));
    contest of(contexts, (operations + contexts - 1) / contexts, probe_is(run, "inside", "yield"));
    value->operations = of.times * contexts;
    probe_guarded([&] {
        probe_start(value);
        contend_all(pool_of(run), of, static_cast<std::int64_t>(contexts));
        probe_stop(value);
    });
    probe_count(value, "checked", of.pairs);
    probe_count(value, "owner_changes", of.changes);
}

static constexpr probe_metric metrics[] = {
    {"lock_pair", "s", "lower", "wall", "operations", "time from one acquisition to the next, whoever has it"},
    {"owner_change", "s", "lower", "wall", "owner_changes", "time from one change of the owner to the next"},
    {"changed_fraction", "1", "neither", "owner_changes", "operations",
     "share of the acquisitions by another coroutine than the one before"},
    {}};

static constexpr probe_param parameters[] = {
    {.name = "contexts",
     .doc = "coroutines that take the mutex",
     .unit = "1",
     .sweep = "1,2,16,256,4096",
     .brief = "1,2,256",
     .min = 1,
     .max = 65536},
    {.name = "inside",
     .doc = "what one does that has the mutex: nothing but counting, or it lets the others run (yield)",
     .choices = "nothing,yield",
     .sweep = "nothing,yield",
     .brief = "yield"},
    pool_threads, {}};

static constexpr probe coro_mutex_probe = {
    .title = "mutex of C++ coroutines",
    .question = "What does a fair mutex cost that many coroutines take, and how often does its owner change?",
    .operation = "one acquisition and release by any of the coroutines; wall time of all together",
    .source = "shell909090/context g_lock.go (2014), for coroutines in C++",
    .statistic = "median",
    .placements = "free",
    .uses = "cpu,sched",
    .family = "pair",
    .metrics = metrics,
    .params = parameters,
    .setup = make_pool,
    .batch = batch,
    .teardown = end_pool,
};

int main(int argc, char **argv)
{
    return probe_main(&coro_mutex_probe, argc, argv);
}
