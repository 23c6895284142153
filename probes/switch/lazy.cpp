/* SPDX-License-Identifier: Apache-2.0
 * lazy - stackless coroutines of engines/coro switch: one is resumed and suspends, or two yield to each other over a loop.
 *
 * Known answer: the coroutine counts how often it was resumed; two that yield take turns.
 * Overhead: counting, under 1 ns.  Limits: two frames that stay in the cache, and an indirect call that the branch
 * predictor knows. The coroutine is made where the loop that resumes it cannot see, so that it is not merged with it.
 * Assembly: resume_times contains (call|bl|jmp|br).*(\*|x[0-9])
 * Source: the pure switch of alibaba/async_simple's benchmarks, for coroutines that are not generators. */
#include "in_out.hpp"

#include <coro/lazy.hpp>
#include <coro/loop.hpp>
#include <coro/spawn.hpp>

/* Suspends whoever awaits it and says who it was. */
struct parking {
    std::coroutine_handle<> parked;

    static bool await_ready() noexcept
    {
        return false;
    }
    void await_suspend(std::coroutine_handle<> who) noexcept
    {
        parked = who;
    }
    static void await_resume() noexcept
    {
    }
};

struct sides {
    coro::loop loop;
    parking place;
    std::uint64_t arrivals = 0;
};

[[gnu::noinline]] static coro::lazy<> park_for_ever(sides &of)
{
    for (;;) {
        co_await of.place;
        of.arrivals++;
    }
}

extern "C" [[gnu::noinline]] void resume_times(std::coroutine_handle<> *inside, std::uint64_t pairs)
{
    for (std::uint64_t i = 0; i < pairs; i++)
        inside->resume();
}

static coro::lazy<> yield_times(turns &both, int side, std::uint64_t times)
{
    for (std::uint64_t i = 0; i < times; i++) {
        both.note(side);
        co_await coro::yield();
    }
}

static std::uint64_t bare(sides &of, std::uint64_t pairs)
{
    const std::uint64_t before = of.arrivals;
    resume_times(&of.place.parked, pairs);
    return of.arrivals - before;
}

static std::uint64_t scheduled(coro::loop &loop, std::uint64_t pairs)
{
    turns both;
    coro::spawn(loop, yield_times(both, 0, pairs));
    coro::spawn(loop, yield_times(both, 1, pairs));
    loop.run();
    return both.of_each();
}

static void setup(probe_run *run)
{
    probe_guarded([run] {
        auto *both = new sides;
        /* Never resumed to its end, and alive as long as the process. */
        auto *inside = new coro::lazy<>(park_for_ever(*both));
        inside->prepare(std::noop_coroutine(), coro::detail::no_environment).resume();
        run->state = both;
    });
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    auto &both = *static_cast<sides *>(run->state);
    const bool is_bare = probe_is(run, "by", "resume");
    in_out_batch(operations, value,
                 [&](std::uint64_t pairs) { return is_bare ? bare(both, pairs) : scheduled(both.loop, pairs); });
}

static constexpr probe_param parameters[] = {
    {.name = "by",
     .doc = "resume: one that suspends is resumed; yield: two on a run loop, each switch through the loop",
     .choices = "resume,yield",
     .sweep = "resume,yield"},
    {}};

static constexpr probe lazy_probe = {
    .title = "C++ coroutine, stackless",
    .question = "What does a switch between stackless coroutines cost?",
    .operation = "one switch into or out of a coroutine of one thread, one way; no creation",
    .source = "alibaba/async_simple at 2db1337d (2022), pure switch; ISO C++20, coroutine_handle",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = in_out_metrics,
    .params = parameters,
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&lazy_probe, argc, argv);
}
