// SPDX-License-Identifier: Apache-2.0
// What the variants of Linux 2.0 share: one queue for all CPUs, and a counter of ticks for each task.
#pragma once

#include <algorithm>
#include <vector>

#include "schedsim/policy.hpp"

namespace schedsim
{

inline constexpr Nanoseconds linux_2_0_tick = 10 * millisecond; // HZ = 100
inline constexpr int linux_2_0_priority = 20;                   // of nice 0: DEF_PRIORITY, ticks between recalculations
inline constexpr int wake_margin = 3;                           // a woken task needs so many ticks more to preempt

class CounterQueue : public Policy
{
  public:
    explicit CounterQueue(CpuId cpus) : running_(cpus, no_task)
    {
    }

    void created(TaskId task, int nice) override
    {
        counter_.resize(task + 1);
        priority_.resize(task + 1);
        cpu_.resize(task + 1);
        exists_.resize(task + 1);
        priority_[task] = std::max(1, linux_2_0_priority - nice);
        counter_[task] = priority_[task];
        cpu_[task] = no_task;
        exists_[task] = 1;
        existing_++;
    }

    void ended(TaskId task) override
    {
        exists_[task] = 0;
        existing_--;
    }

    void ran(TaskId, CpuId, Nanoseconds) override
    {
    }

    // The tick that finds nothing left takes the CPU away, so a turn is counter + 1 ticks.
    bool tick(TaskId running, CpuId, Nanoseconds) override
    {
        if (counter_[running] > 0) {
            counter_[running]--;
            return false;
        }
        return true;
    }

    bool preempts(TaskId woken, TaskId running, CpuId) override
    {
        return counter_[woken] > counter_[running] + wake_margin;
    }

  protected:
    // Over all that exist, asleep or not. Sleepers converge to just under twice their priority: their bonus.
    std::uint32_t recalculate()
    {
        for (std::size_t task = 0; task < counter_.size(); task++)
            counter_[task] = (counter_[task] >> 1) + priority_[task];
        return existing_;
    }

    std::vector<std::int32_t> counter_, priority_;
    std::vector<CpuId> cpu_; // where it ran last, or no_task
    std::vector<char> exists_;
    std::vector<TaskId> running_; // on each CPU
    std::uint32_t existing_ = 0;
};

} // namespace schedsim
