// SPDX-License-Identifier: Apache-2.0
// The benchmark of the article: closed forms where there are any, and its table.
#include <fstream>

#include "check.hpp"
#include "schedsim/calibration.hpp"
#include "schedsim/json.hpp"
#include "schedsim/loads.hpp"

using namespace schedsim;
using test::check;
using test::near;

namespace
{

constexpr std::uint32_t article[] = {2, 4, 8, 10, 20, 40};

YieldCost without_costs(const char *policy, std::uint32_t contexts)
{
    return yield_cost(*find_policy(policy), contexts, 0, std::uint64_t{400} * contexts, {});
}

// The request to calibrate in a line of the study.
Calibration of_study(int line)
{
    std::ifstream file(test::folder() + "/travis_1998.jsonl");
    std::string text;
    for (int i = 0; i <= line; i++)
        std::getline(file, text);
    const json::Value request = json::parse(text);
    std::vector<Point> points;
    for (const json::Value &point : request["points"])
        points.push_back({find_policy(point["policy"].get<std::string>().c_str()),
                          point["contexts"], point["ns"],
                          point["fitted"]});
    return calibrate(points, request["others"]);
}

} // namespace

TEST(yielders_of_linux_2_0_30_equal_the_closed_form)
{
    // Whoever yields has no ticks left; the k-th finds nobody who has: 1 recalculation in k yields, and each
    // yield switches.
    for (const std::uint32_t k : {1u, 2u, 3u, 4u, 8u, 10u, 20u, 40u, 100u}) {
        const YieldCost seen = without_costs("linux_2_0_30", k);
        near(seen.recalculations, 1.0 / k, 1e-12, "recalculations of " + std::to_string(k));
        near(seen.recalculated, 1.0, 1e-12, "each yield pays for recalculating one task");
        near(seen.searched, k, 1e-12, "tasks looked at");
        near(seen.switching, k > 1, 0, "yields that switch");
    }
}

TEST(yielders_with_the_changed_yield_equal_the_closed_form)
{
    // 20 ticks, one a yield: 1 recalculation in 20 k yields. Who runs is worth a tick more, so it wins a tie once in
    // each of the other 19 rounds: it keeps the CPU in 19 of 20 k yields.
    for (const std::uint32_t k : {1u, 2u, 3u, 4u, 8u, 10u, 20u, 40u, 100u}) {
        const YieldCost seen = without_costs("linux_2_0_30_one_tick", k);
        near(seen.recalculations, 1.0 / (20.0 * k), 1e-12, "recalculations of " + std::to_string(k));
        near(seen.switching, k == 1 ? 0.0 : 1.0 - 19.0 / (20.0 * k), 1e-12, "yields that switch");
    }
}

TEST(recalculations_drop_twentyfold_and_at_two_contexts_half_the_yields_switch)
{
    for (const std::uint32_t k : article)
        near(without_costs("linux_2_0_30", k).recalculations / without_costs("linux_2_0_30_one_tick", k).recalculations,
             20.0, 1e-12, "the drop");
    near(without_costs("linux_2_0_30_one_tick", 2).switching, 0.525, 1e-12, "a little over half");
}

TEST(under_every_other_policy_each_yield_switches_and_nothing_is_recalculated)
{
    for (const PolicyKind *policy : policies()) {
        const std::string name = policy->name;
        if (name.starts_with("linux_2_0"))
            continue;
        for (const std::uint32_t k : {1u, 2u, 10u, 40u}) {
            const YieldCost seen = without_costs(policy->name, k);
            near(seen.switching, k > 1, 0, name + " with " + std::to_string(k));
            check(seen.recalculations == 0, name);
        }
    }
}

TEST(a_sorted_queue_saves_the_search_of_long_queues_and_costs_more_in_short_ones)
{
    for (const std::uint32_t k : article) {
        const double searched = without_costs("linux_2_0_30", k).searched;
        const double sorted = without_costs("linux_2_0_30_sorted", k).searched;
        check(k > 3 ? sorted < searched : sorted >= searched, "at " + std::to_string(k) + " contexts");
    }
}

TEST(the_table_of_1998_is_reproduced)
{
    // Fitted: the stock kernel's six points, and two contexts of the changed one, or what a switch costs would be
    // unknown. Predicted: the changed kernel. The figures are whole microseconds of two runs each.
    for (const int line : {0, 1}) {
        const Calibration study = of_study(line);
        check(study.points.size() == 12, "both kernels at six numbers of contexts");
        for (const Point &point : study.points) {
            const std::string what = std::string(point.policy->name) + " at " + std::to_string(point.contexts);
            if (point.fitted)
                near(point.simulated_ns, point.measured_ns, 0.10, what + ", fitted");
            else
                check(std::fabs(point.simulated_ns - point.measured_ns) <= std::max(0.10 * point.measured_ns, 2700.0),
                      what + ", predicted: " + std::to_string(point.simulated_ns));
        }
        check(study.costs.search > 300 && study.costs.search < 800, "60 to 160 cycles at 200 MHz for a task looked at");
    }
}

TEST(beyond_ten_contexts_the_change_does_not_matter_and_at_two_it_is_everything)
{
    const Calibration study = of_study(0);
    const auto cost = [&](const char *policy, std::uint32_t contexts) {
        return yield_cost(*find_policy(policy), contexts, 40, 40'000, study.costs).ns;
    };
    check(cost("linux_2_0_30", 2) / cost("linux_2_0_30_one_tick", 2) > 4, "published: 19 to 4");
    check(cost("linux_2_0_30", 20) / cost("linux_2_0_30_one_tick", 20) < 1.2, "published: 16 to 15");
    check(cost("linux_2_0_30", 40) / cost("linux_2_0_30_one_tick", 40) < 1.1, "published: 27 to 28");
}

TEST(a_calibration_finds_the_costs_that_made_its_points)
{
    const Costs made = {700, 350, 450, 2500};
    std::vector<Point> points;
    for (const char *name : {"linux_2_0_30", "linux_2_0_30_one_tick"})
        for (const std::uint32_t k : article)
            points.push_back({find_policy(name), k, yield_cost(*find_policy(name), k, 30, 40'000, made).ns, true});
    const Costs found = calibrate(points, 30).costs;
    near(static_cast<double>(found.entry), 700, 0.02, "entry");
    near(static_cast<double>(found.search), 350, 0.02, "search");
    near(static_cast<double>(found.recalculation), 450, 0.02, "recalculation");
    near(static_cast<double>(found.change), 2500, 0.02, "change");
}

MAIN
