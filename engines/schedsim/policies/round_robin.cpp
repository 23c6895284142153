// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "schedsim/driven.hpp"

namespace schedsim
{
namespace
{

constexpr Nanoseconds default_quantum = 100 * millisecond;

// One queue, no priorities: everybody has the same turn and goes to the end after it.
class RoundRobin final : public Policy
{
  public:
    explicit RoundRobin(const PolicySettings &settings)
        : quantum_(settings.quantum > 0 ? settings.quantum : default_quantum), running_(settings.cpus, no_task)
    {
    }

    void created(TaskId task, int) override
    {
        used_.resize(task + 1);
    }

    void ended(TaskId) override
    {
    }

    void ready(TaskId task, CpuId, Nanoseconds, Nanoseconds, Work &) override
    {
        queue_.push_back(task);
        used_[task] = 0;
    }

    void left(TaskId, CpuId cpu, Nanoseconds) override
    {
        running_[cpu] = no_task;
    }

    void yielded(TaskId task, CpuId, Nanoseconds) override
    {
        used_[task] = quantum_;
    }

    void ran(TaskId task, CpuId, Nanoseconds time) override
    {
        used_[task] += time;
    }

    bool tick(TaskId running, CpuId, Nanoseconds) override
    {
        return used_[running] >= quantum_;
    }

    bool preempts(TaskId, TaskId, CpuId) override
    {
        return false;
    }

    TaskId choose(CpuId cpu, TaskId previous, Nanoseconds, Work &work) override
    {
        work.searched++;
        running_[cpu] = no_task;
        if (previous != no_task) {
            if (used_[previous] < quantum_)
                return running_[cpu] = previous;
            used_[previous] = 0;
            queue_.push_back(previous);
        }
        if (queue_.empty())
            return no_task;
        running_[cpu] = queue_.front();
        queue_.pop_front();
        return running_[cpu];
    }

    std::vector<TaskId> runnable() const override
    {
        std::vector<TaskId> all(queue_.begin(), queue_.end());
        std::copy_if(running_.begin(), running_.end(), std::back_inserter(all), [](TaskId t) { return t != no_task; });
        return all;
    }

  private:
    Nanoseconds quantum_;
    std::deque<TaskId> queue_; // runnable and not running
    std::vector<TaskId> running_;
    std::vector<Nanoseconds> used_; // of the turn
};

std::unique_ptr<Policy> make(const PolicySettings &settings)
{
    return std::make_unique<RoundRobin>(settings);
}

} // namespace

extern const PolicyKind round_robin;
const PolicyKind round_robin = {
    "round_robin",
    "",
    "round robin with one quantum for all",
    "L. Kleinrock, Analysis of a Time-Shared Processor, Naval Research Logistics Quarterly 11 (1964); POSIX SCHED_RR",
    millisecond,
    true,
    make,
    driven_by<RoundRobin>(),
};

} // namespace schedsim
