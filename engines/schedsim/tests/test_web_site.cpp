// SPDX-License-Identifier: Apache-2.0
// The web site of the article: the fit to each figure that was measured of it, within the tolerance that stands here.
#include "check.hpp"
#include "schedsim/loads.hpp"

using namespace schedsim;
using test::check;
using test::near;

namespace
{

// Those fitted to the benchmark of 1998 at 200 MHz, for 333 MHz.
constexpr Costs costs = {0, 316, 383, 2685};

Statistics site(const char *policy, Nanoseconds length)
{
    WebSite load(WebSite::fitted());
    Simulation simulation(*find_policy(policy), {1, 0}, costs);
    simulation.run(load, length);
    check(simulation.tasks() == 420, "420 processes");
    return simulation.statistics();
}

double share(const Statistics &seen, std::size_t from)
{
    std::uint64_t count = 0;
    for (std::size_t length = from; length <= longest_counted; length++)
        count += seen.switches_at_length[length];
    return static_cast<double>(count) / static_cast<double>(seen.switches);
}

} // namespace

TEST(the_model_fits_what_was_measured_of_the_site)
{
    const Statistics seen = site("linux_2_0_30", 17 * hour);
    near(static_cast<double>(seen.switches), 24'221'164, 0.005, "switches in 17 hours");
    double mean = 0;
    std::size_t longest = 0;
    for (std::size_t length = 0; length <= longest_counted; length++) {
        mean += static_cast<double>(length) * static_cast<double>(seen.switches_at_length[length]);
        if (seen.switches_at_length[length] > 0)
            longest = length;
    }
    near(mean / static_cast<double>(seen.switches), 2.5, 0.03, "mean length of the run queue");
    near(share(seen, 11), 0.04, 0.03, "share of the switches with more than 10 to choose from");
    near(share(seen, 20), 0.001, 0.1, "share with 20 or more");
    near(static_cast<double>(longest), 36, 0.15, "longest run queue");
    near(static_cast<double>(seen.switches) / static_cast<double>(seen.recalculations), 200, 0.1,
         "switches for a recalculation");
}

TEST(on_the_site_the_scheduler_hardly_matters_and_its_change_not_at_all)
{
    const Statistics seen = site("linux_2_0_30", 2 * hour), changed = site("linux_2_0_30_one_tick", 2 * hour);
    const auto time = static_cast<double>(seen.time);
    check(static_cast<double>(seen.overhead) < 0.002 * time, "all of the scheduler is below 0.2 % of the CPU");
    check(static_cast<double>(costs.recalculation) * static_cast<double>(seen.recalculated) < 0.0004 * time,
          "recalculation, which the change saves, is below 0.04 %");
    // Nobody there yields: what one call of sched_yield does cannot matter.
    check(seen.yields == 0 && changed.overhead == seen.overhead && changed.switches == seen.switches,
          "nothing changes");
}

TEST(a_sorted_queue_would_have_saved_the_site_nothing_worth_having)
{
    const Statistics seen = site("linux_2_0_30", 2 * hour), sorted = site("linux_2_0_30_sorted", 2 * hour);
    const double saved = static_cast<double>(seen.overhead - sorted.overhead) / static_cast<double>(seen.time);
    check(std::fabs(saved) < 0.0005, "less than 0.05 % of the CPU: " + std::to_string(saved));
}

TEST(the_same_seed_gives_the_same_run_to_the_last_switch)
{
    // A figure that changes here has changed for everybody: say so in the changelog.
    struct Hour {
        const char *policy;
        std::uint64_t switches;
        Nanoseconds overhead, longest_wait;
    };
    constexpr Hour hours[] = {
        {"linux_2_0_30", 1420626, 5553920337, 869372016},
        {"linux_2_0_30_sorted", 1421931, 5578255279, 802128375},
        {"linux_2_6_o1", 1402518, 3697174285, 2673805109},
        {"cfs", 1710208, 5539818735, 16668537},
        {"eevdf", 2524361, 10391383134, 10008442},
        {"round_robin", 1010126, 2492777649, 325617513},
    };
    for (const Hour &wanted : hours) {
        const Statistics seen = site(wanted.policy, hour);
        check(seen.switches == wanted.switches && seen.overhead == wanted.overhead &&
                  seen.longest_wait == wanted.longest_wait,
              std::string(wanted.policy) + ": " + std::to_string(seen.switches) + " switches, " +
                  std::to_string(seen.overhead) + " ns, the longest wait " + std::to_string(seen.longest_wait) + " ns");
    }
}

MAIN
