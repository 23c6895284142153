/* SPDX-License-Identifier: Apache-2.0
 * pool_task - a coroutine, or a fiber, made on a pool of 1 to 1024 threads and awaited, one at a time.
 *
 * Known answer: a task returns the complement of what it was given, which proves that it ran and not only that it was
 * made.  Overhead: the loop, a nanosecond.
 * Limits: whoever makes them is a coroutine of the pool itself. With one thread both share it; with more another worker
 * may take the task: `elsewhere_fraction` tells how often, and waking that worker is then most of the cost.
 * Frames and stacks come from pools; depth/fiber_made has the price of a stack that does not.
 * Assembly: make_tasks contains (call|bl)
 * Source: the task of create/tokio_task (tokio-rs/tokio, benches/spawn.rs) for coroutines in C++. */
#include "pooled.hpp"

#include <coro/fiber.hpp>

struct ended {
    std::uint64_t right = 0, elsewhere = 0;
};

struct answer {
    std::uint64_t value;
    const void *where;
};

[[gnu::noinline]] static answer answer_to(std::uint64_t question)
{
    return {~question, this_thread()};
}

static coro::lazy<answer> task(std::uint64_t question)
{
    co_return answer_to(question);
}

static coro::lazy<ended> make_and_await(coro::pool &on, std::uint64_t times, bool fibers)
{
    ended all;
    for (std::uint64_t i = 0; i < times; i++) {
        const void *const here = this_thread();
        const answer got = fibers ? co_await coro::fiber::async(on, [i] { return answer_to(i); })
                                  : co_await coro::on(on, task(i));
        all.right += got.value == ~i;
        all.elsewhere += got.where != here;
    }
    co_return all;
}

extern "C" [[gnu::noinline]] ended make_tasks(coro::pool &on, std::uint64_t times, bool fibers)
{
    return coro::sync_wait(make_and_await(on, times, fibers), &on);
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    ended all;
    probe_guarded([&] {
        probe_start(value);
        all = make_tasks(pool_of(run), operations, probe_is(run, "way", "fiber"));
        probe_stop(value);
    });
    probe_count(value, "checked", all.right);
    probe_count(value, "elsewhere", all.elsewhere);
}

static constexpr probe_metric metrics[] = {
    {"task", "s", "lower", "wall", "operations", "time from making the task to its known end"},
    {"task_cpu", "s", "lower", "cpu", "operations", "CPU time of all threads for it"},
    {"elsewhere_fraction", "1", "neither", "elsewhere", "operations", "share of the tasks that ran on another thread"},
    {}};

static constexpr probe_param parameters[] = {
    {.name = "way",
     .doc = "what a task is: a stackless coroutine (lazy), or a stackful one (fiber)",
     .choices = "lazy,fiber",
     .sweep = "lazy,fiber"},
    pool_threads, {}};

static constexpr probe pool_task_probe = {
    .title = "C++ coroutine on a pool",
    .question = "What does a coroutine cost that is made on a pool of threads and awaited?",
    .operation = "one coroutine or fiber made on the pool and the await of what it returns, one at a time",
    .source = "tokio-rs/tokio, benches/spawn.rs, for coroutines in C++",
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
    return probe_main(&pool_task_probe, argc, argv);
}
