/* SPDX-License-Identifier: Apache-2.0
 * pool - coroutines and fibers that yield to each other on a pool of 1 to 1024 threads, two for each thread.
 *
 * A worker that has nothing left takes from another, so that now and then a thread has one of them alone, which then
 * yields to nobody: `switched_fraction` tells how often somebody else came next on the same thread.
 *
 * Known answer: each counts how often it was resumed.
 * Overhead: noting who ran last on this thread, 1 to 2 ns a yield.  Limits: frames and stacks that stay in the cache.
 * Assembly: run_yields contains (call|bl)
 * Source: Blumofe & Leiserson, Scheduling Multithreaded Computations by Work Stealing (JACM 46, 1999). */
#include "pooled.hpp"

#include <coro/fiber.hpp>

#include <atomic>

/* Whether another ran on this thread before. Not inlined, as this_thread(). */
[[gnu::noinline]] static bool follows_another(unsigned who)
{
    static thread_local unsigned last = ~0u;
    const bool another = last != who;
    last = who;
    return another;
}

struct yielding {
    coro::latch left;
    std::uint64_t times;
    std::atomic<std::uint64_t> resumed{0}, switched{0};

    yielding(unsigned contexts, std::uint64_t each) : left(contexts), times(each)
    {
    }
    void ended(std::uint64_t own_resumed, std::uint64_t own_switched)
    {
        resumed.fetch_add(own_resumed, std::memory_order_relaxed);
        switched.fetch_add(own_switched, std::memory_order_relaxed);
        left.count_down();
    }
};

static coro::lazy<> yield_by_lazy(yielding &of, unsigned who)
{
    std::uint64_t resumed = 0, switched = 0;
    for (; resumed < of.times; resumed++) {
        co_await coro::yield();
        switched += follows_another(who);
    }
    of.ended(resumed, switched);
}

static void yield_by_fiber(yielding &of, unsigned who)
{
    std::uint64_t resumed = 0, switched = 0;
    for (; resumed < of.times; resumed++) {
        coro::fiber::yield();
        switched += follows_another(who);
    }
    of.ended(resumed, switched);
}

extern "C" [[gnu::noinline]] void run_yields(coro::pool &on, yielding &of, unsigned contexts, bool by_fibers)
{
    for (unsigned who = 0; who < contexts; who++)
        if (by_fibers)
            coro::fiber::spawn(on, [&of, who] { yield_by_fiber(of, who); }).detach();
        else
            coro::spawn(on, yield_by_lazy(of, who));
    wait_for(of.left);
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    coro::pool &on = pool_of(run);
    const auto contexts = static_cast<unsigned>(2 * on.size());
    yielding of(contexts, (operations + contexts - 1) / contexts);
    value->operations = of.times * contexts;
    value->lanes = static_cast<std::uint32_t>(on.size());
    probe_guarded([&] {
        probe_start(value);
        run_yields(on, of, contexts, probe_is(run, "way", "fiber"));
        probe_stop(value);
    });
    probe_count(value, "switches", of.switched);
    probe_count(value, "checked", of.resumed);
}

static constexpr probe_metric metrics[] = {
    {"switch", "s", "lower", "wall", "switches", "time of one switch to another on the same thread, one way"},
    {"yield", "s", "lower", "wall", "operations", "time of one yield, whoever comes next"},
    {"switched_fraction", "1", "neither", "switches", "operations", "share of the yields after which another came next"},
    {}};

static constexpr probe_param parameters[] = {
    {.name = "way",
     .doc = "what yields: a stackless coroutine (lazy), or a stackful one (fiber)",
     .choices = "lazy,fiber",
     .sweep = "lazy,fiber"},
    pool_threads, {}};

static constexpr probe pool_probe = {
    .title = "C++ coroutines on a pool",
    .question = "What does a switch between coroutines cost on a pool of threads that steal work from each other?",
    .operation = "one yield of a coroutine through the queue of its worker; time of one thread, no creation",
    .source = "Blumofe & Leiserson, Scheduling Multithreaded Computations by Work Stealing (JACM 46, 1999)",
    .statistic = "median",
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
    return probe_main(&pool_probe, argc, argv);
}
