// SPDX-License-Identifier: Apache-2.0
#include "goodness_search.hpp"
#include "schedsim/driven.hpp"

namespace schedsim
{
namespace
{

// A yield costs one tick of the turn and not all of them. That it stops at none left is a guess: the listing is lost.
class Linux2030OneTick final : public GoodnessSearch
{
  public:
    using GoodnessSearch::GoodnessSearch;

    void yielded(TaskId task, CpuId, Nanoseconds) override
    {
        counter_[task] -= counter_[task] > 0;
        move_last(task);
    }
};

std::unique_ptr<Policy> make(const PolicySettings &settings)
{
    return std::make_unique<Linux2030OneTick>(settings.cpus);
}

} // namespace

extern const PolicyKind linux_2_0_30_one_tick;
const PolicyKind linux_2_0_30_one_tick = {
    "linux_2_0_30_one_tick",
    "changed",
    "Linux 2.0.30 in which sched_yield takes one tick and not all",
    "R. Appleton, Understanding a Context Switching Benchmark, Linux Journal 57 (1999), listing 3; the change is "
    "I. Molnar's (1998)",
    linux_2_0_tick,
    false,
    make,
    driven_by<Linux2030OneTick>(),
};

} // namespace schedsim
