// SPDX-License-Identifier: Apache-2.0
// The search of Linux 2.0.30: every runnable task is looked at each time, and the one with the most ticks left wins.
#pragma once

#include "counter_queue.hpp"

namespace schedsim
{

class GoodnessSearch : public CounterQueue
{
  public:
    using CounterQueue::CounterQueue;

    void ready(TaskId task, CpuId, Nanoseconds, Nanoseconds, Work &) override
    {
        queue_.push_back(task);
    }

    void left(TaskId task, CpuId cpu, Nanoseconds) override
    {
        queue_.erase(std::find(queue_.begin(), queue_.end(), task));
        running_[cpu] = no_task;
    }

    TaskId choose(CpuId cpu, TaskId previous, Nanoseconds, Work &work) override
    {
        int best = -1000;
        TaskId chosen = no_task;
        for (const TaskId task : queue_) {
            const int weight = goodness(task, previous, cpu);
            // Only a greater one replaces: a tie is won by the earlier in the queue.
            if (weight > best) {
                best = weight;
                chosen = task;
            }
        }
        work.searched += static_cast<std::uint32_t>(queue_.size());
        // After it the search is not repeated: the first of those without ticks runs.
        if (best == 0)
            work.recalculated = recalculate();
        running_[cpu] = chosen;
        if (chosen != no_task)
            cpu_[chosen] = cpu;
        return chosen;
    }

    std::vector<TaskId> runnable() const override
    {
        return queue_;
    }

  protected:
    void move_last(TaskId task)
    {
        queue_.erase(std::find(queue_.begin(), queue_.end(), task));
        queue_.push_back(task);
    }

  private:
    // Ticks left; one more for who has the CPU, twenty more for who had this one last where there are several.
    int goodness(TaskId task, TaskId previous, CpuId cpu) const
    {
        if (running_.size() > 1) {
            if (task != previous && running_[cpu_[task] % running_.size()] == task)
                return -1000; // runs elsewhere
            if (counter_[task] == 0)
                return 0;
            return counter_[task] + (cpu_[task] == cpu ? affinity_bonus : 0) + (task == previous);
        }
        return counter_[task] == 0 ? 0 : counter_[task] + (task == previous);
    }

    static constexpr int affinity_bonus = 20; // PROC_CHANGE_PENALTY

    std::vector<TaskId> queue_; // all runnable, in the order of their becoming so
};

} // namespace schedsim
