// SPDX-License-Identifier: Apache-2.0
#include "goodness_search.hpp"
#include "schedsim/driven.hpp"

namespace schedsim
{
namespace
{

// A yield is the end of the turn: all ticks are gone. When all have yielded, all priorities are recalculated.
class Linux2030 final : public GoodnessSearch
{
  public:
    using GoodnessSearch::GoodnessSearch;

    void yielded(TaskId task, CpuId, Nanoseconds) override
    {
        counter_[task] = 0;
        move_last(task);
    }
};

std::unique_ptr<Policy> make(const PolicySettings &settings)
{
    return std::make_unique<Linux2030>(settings.cpus);
}

} // namespace

extern const PolicyKind linux_2_0_30;
const PolicyKind linux_2_0_30 = {
    "linux_2_0_30",
    "",
    "Linux 2.0.30: a search of the run queue by goodness, a recalculation over all tasks, no second search",
    "Linux 2.0.30, kernel/sched.c (1997): schedule(), goodness(), add_to_runqueue(), sys_sched_yield()",
    linux_2_0_tick,
    false,
    make,
    driven_by<Linux2030>(),
};

} // namespace schedsim
