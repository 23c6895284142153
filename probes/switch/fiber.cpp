/* SPDX-License-Identifier: Apache-2.0
 * fiber - stackful coroutines of engines/coro switch: bare, or as fibers that yield to each other over a run loop.
 *
 * Known answer: the other side counts how often it was entered; two fibers that yield take turns.
 * Overhead: counting, under 1 ns.  Limits: two stacks that stay in the cache, and a switch that the branch predictor knows.
 * Assembly: enter_and_leave contains (jmp +\*|br )
 * Assembly: yield_times contains (call|bl)
 * Source: the Uthread switch of alibaba/async_simple's benchmarks, a boost.context style jump in and out: 42.9 to 46.3 ns. */
#include "in_out.hpp"

#include <coro/context.hpp>
#include <coro/fiber.hpp>
#include <coro/loop.hpp>

static std::uint64_t arrivals; /* of the stack that is entered */

extern "C" [[gnu::noinline]] void enter_and_leave(coro::context &inside, std::uint64_t pairs)
{
    for (std::uint64_t i = 0; i < pairs; i++)
        inside.resume();
}

extern "C" [[gnu::noinline]] void yield_times(turns *both, int side, std::uint64_t times)
{
    for (std::uint64_t i = 0; i < times; i++) {
        both->note(side);
        coro::fiber::yield();
    }
}

static std::uint64_t bare(coro::context &inside, std::uint64_t pairs)
{
    const std::uint64_t before = arrivals;
    enter_and_leave(inside, pairs);
    return arrivals - before;
}

static std::uint64_t scheduled(coro::loop &loop, std::uint64_t pairs)
{
    turns both;
    coro::fiber::spawn(loop, [&] { yield_times(&both, 0, pairs); }).detach();
    coro::fiber::spawn(loop, [&] { yield_times(&both, 1, pairs); }).detach();
    loop.run();
    return both.of_each();
}

struct sides {
    coro::loop loop;
    coro::context inside{[](coro::context::self self) {
        for (;;) {
            arrivals++;
            self.suspend();
        }
    }};
};

static void setup(probe_run *run)
{
    probe_guarded([run] { run->state = new sides; });
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    auto &both = *static_cast<sides *>(run->state);
    const bool is_bare = probe_is(run, "by", "resume");
    in_out_batch(operations, value, [&](std::uint64_t pairs) {
        return is_bare ? bare(both.inside, pairs) : scheduled(both.loop, pairs);
    });
}

static void teardown(probe_run *run)
{
    delete static_cast<sides *>(run->state);
}

static constexpr probe_param parameters[] = {
    {.name = "by",
     .doc = "resume: the bare switch in and out; yield: two fibers of a run loop, each switch through the loop",
     .choices = "resume,yield",
     .sweep = "resume,yield"},
    {}};

static constexpr probe fiber_probe = {
    .title = "C++ coroutine, with a stack",
    .question = "What does a switch between stackful coroutines cost?",
    .operation = "one switch between two stacks of one thread, one way; no creation",
    .source = "alibaba/async_simple at 2db1337d (2022), Uthread_pure_switch",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = in_out_metrics,
    .params = parameters,
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&fiber_probe, argc, argv);
}
