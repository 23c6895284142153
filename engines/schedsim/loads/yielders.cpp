// SPDX-License-Identifier: Apache-2.0
#include "schedsim/loads.hpp"

namespace schedsim
{

Yielders::Yielders(const Settings &settings) : settings_(settings), warm_up_(std::uint64_t{200} * settings.contexts)
{
}

void Yielders::begin(Simulation &simulation)
{
    for (std::uint32_t i = 0; i < settings_.contexts; i++)
        simulation.create();
    for (std::uint32_t i = 0; i < settings_.others; i++)
        simulation.create();
    for (TaskId task = 0; task < settings_.contexts; task++)
        simulation.wake(task);
}

Step Yielders::next(TaskId, Simulation &simulation)
{
    if (!warm_ && simulation.statistics().yields >= warm_up_) {
        warm_ = true;
        simulation.forget();
    }
    return {settings_.run, Step::Then::yield, 0};
}

bool Yielders::over(const Simulation &simulation) const
{
    return warm_ && simulation.statistics().yields >= settings_.yields;
}

} // namespace schedsim
