/* SPDX-License-Identifier: Apache-2.0
 * boost_context - stacks of one thread switch by Boost.Context, which most libraries with stackful coroutines build on.
 *
 * Known answer: the other side counts how often it was entered.
 * Overhead: counting, under 1 ns.  Limits: two stacks that stay in the cache, and a jump that the branch predictor knows.
 * Needs: Boost context, libboost-context-dev in Debian.
 * Assembly: enter_and_leave contains (call|bl).*jump_fcontext
 * Source: Boost.Context, boost::context::fiber; the jump of alibaba/async_simple's Uthread is made after it. */
#include "in_out.hpp"

#include <boost/context/fiber.hpp>

using boost::context::fiber;

static std::uint64_t arrivals;

extern "C" [[gnu::noinline]] void enter_and_leave(fiber &inside, std::uint64_t pairs)
{
    for (std::uint64_t i = 0; i < pairs; i++)
        inside = std::move(inside).resume();
}

static void setup(probe_run *run)
{
    probe_guarded([run] {
        run->state = new fiber([](fiber &&outside) {
            for (;;) {
                arrivals++;
                outside = std::move(outside).resume();
            }
            return std::move(outside);
        });
    });
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    auto &inside = *static_cast<fiber *>(run->state);
    in_out_batch(operations, value, [&](std::uint64_t pairs) {
        const std::uint64_t before = arrivals;
        enter_and_leave(inside, pairs);
        return arrivals - before;
    });
}

static void teardown(probe_run *run)
{
    delete static_cast<fiber *>(run->state);
}

static constexpr probe boost_context_probe = {
    .title = "Boost.Context",
    .question = "What does a switch between two stacks by Boost.Context cost?",
    .operation = "one switch between two stacks of one thread, one way; no creation",
    .source = "Boost.Context, fiber::resume()",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = in_out_metrics,
    .setup = setup,
    .batch = batch,
    .teardown = teardown,
};

int main(int argc, char **argv)
{
    return probe_main(&boost_context_probe, argc, argv);
}
