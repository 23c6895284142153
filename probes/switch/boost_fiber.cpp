/* SPDX-License-Identifier: Apache-2.0
 * boost_fiber - two fibers of Boost.Fiber yield to each other through its scheduler.
 *
 * Known answer: both yield equally often, each after the other.
 * Overhead: counting, under 1 ns; starting and joining the two fibers once a batch.  Limits: two fibers in the cache.
 * Needs: Boost fiber, libboost-fiber-dev in Debian.
 * Assembly: yield_times contains (call|bl)
 * Source: Boost.Fiber, this_fiber::yield(), round robin on one thread. */
#include "in_out.hpp"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

extern "C" [[gnu::noinline]] void yield_times(turns *both, int side, std::uint64_t times)
{
    for (std::uint64_t i = 0; i < times; i++) {
        both->note(side);
        boost::this_fiber::yield();
    }
}

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    (void)run;
    in_out_batch(operations, value, [](std::uint64_t pairs) {
        turns both;
        boost::fibers::fiber first([&] { yield_times(&both, 0, pairs); });
        boost::fibers::fiber second([&] { yield_times(&both, 1, pairs); });
        first.join();
        second.join();
        return both.of_each();
    });
}

static constexpr probe boost_fiber_probe = {
    .title = "Boost.Fiber",
    .question = "What does a yield between two fibers of Boost.Fiber cost?",
    .operation = "one yield to the other fiber through the scheduler, one way",
    .source = "Boost.Fiber, this_fiber::yield()",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = in_out_metrics,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&boost_fiber_probe, argc, argv);
}
