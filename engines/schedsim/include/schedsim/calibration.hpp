// SPDX-License-Identifier: Apache-2.0
// Costs from measured points: what each step of a scheduler must cost so that the benchmark takes as long as it did.
#pragma once

#include <cstdint>
#include <vector>

#include "schedsim/simulation.hpp"

namespace schedsim
{

// The measured time of one yield among so many contexts. Only a fitted point has a say in the costs; what the costs
// give for the others is a prediction.
struct Point {
    const PolicyKind *policy = nullptr;
    std::uint32_t contexts = 0;
    double measured_ns = 0;
    bool fitted = false;
    double simulated_ns = 0; // an answer
};

struct Calibration {
    Costs costs;
    std::vector<Point> points; // with simulated_ns
    // The largest |simulated / measured - 1| of each kind, 0 if there is none.
    double worst_fitted = 0, worst_predicted = 0;
};

// `others` are tasks that exist and sleep. Minimises the sum of squared relative deviations over the fitted points, no
// cost below 0. A cost that none of the fitted points tells from another one comes out as 0.
Calibration calibrate(std::vector<Point> points, std::uint32_t others);

// Time of one yield among so many contexts, in nanoseconds, and what one did on average.
struct YieldCost {
    double ns = 0;
    double calls = 0, searched = 0, recalculated = 0, switches = 0, recalculations = 0, switching = 0;
};
YieldCost yield_cost(const PolicyKind &policy, std::uint32_t contexts, std::uint32_t others, std::uint64_t yields,
                     const Costs &costs, CpuId cpus = 1);

} // namespace schedsim
