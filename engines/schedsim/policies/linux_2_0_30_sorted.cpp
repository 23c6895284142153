// SPDX-License-Identifier: Apache-2.0
#include "counter_queue.hpp"
#include "schedsim/driven.hpp"

namespace schedsim
{
namespace
{

// The queue is kept in order, so that the next is its first. The search is gone, and comes back as the search for a
// place: from the end, where those without ticks belong. Decides as the unsorted queue does on one CPU; on several it
// knows nothing of the bonus for the CPU that a task ran on.
class Linux2030Sorted final : public CounterQueue
{
  public:
    using CounterQueue::CounterQueue;

    void created(TaskId task, int nice) override
    {
        CounterQueue::created(task, nice);
        arrival_.resize(task + 1);
    }

    void ready(TaskId task, CpuId, Nanoseconds, Nanoseconds, Work &work) override
    {
        arrival_[task] = arrivals_++;
        insert(task, work);
    }

    void left(TaskId, CpuId cpu, Nanoseconds) override
    {
        running_[cpu] = no_task;
    }

    void yielded(TaskId task, CpuId, Nanoseconds) override
    {
        counter_[task] = 0;
        arrival_[task] = arrivals_++;
    }

    TaskId choose(CpuId cpu, TaskId previous, Nanoseconds, Work &work) override
    {
        running_[cpu] = no_task;
        if (previous != no_task && stays(previous, work)) {
            if (counter_[previous] == 0)
                recalculate_in_order(work);
            return running_[cpu] = previous;
        }
        if (previous != no_task)
            insert(previous, work);
        if (queue_.empty())
            return no_task;
        work.searched++;
        const TaskId chosen = queue_.front();
        queue_.erase(queue_.begin());
        if (counter_[chosen] == 0)
            recalculate_in_order(work);
        cpu_[chosen] = cpu;
        return running_[cpu] = chosen;
    }

    std::vector<TaskId> runnable() const override
    {
        std::vector<TaskId> all = queue_;
        for (const TaskId task : running_)
            if (task != no_task)
                all.push_back(task);
        return all;
    }

  private:
    // More ticks first; among equals who came earlier.
    bool before(TaskId a, TaskId b) const
    {
        return counter_[a] != counter_[b] ? counter_[a] > counter_[b] : arrival_[a] < arrival_[b];
    }

    // Who has the CPU counts one tick more, if it has any; with that it needs a tie to be won by its arrival.
    bool stays(TaskId task, Work &work) const
    {
        work.searched++;
        if (queue_.empty())
            return true;
        const TaskId first = queue_.front();
        const int weight = counter_[task] == 0 ? 0 : counter_[task] + 1;
        return weight != counter_[first] ? weight > counter_[first] : arrival_[task] < arrival_[first];
    }

    void insert(TaskId task, Work &work)
    {
        auto place = queue_.end();
        for (work.searched++; place != queue_.begin() && before(task, *(place - 1)); --place)
            work.searched++;
        queue_.insert(place, task);
    }

    // Halving merges counters 2n and 2n + 1: among those that are equal now the arrival decides, so they are put in
    // order again, by insertion, each look counted as in a search.
    void recalculate_in_order(Work &work)
    {
        work.recalculated = recalculate();
        for (std::size_t sorted = 1; sorted < queue_.size(); sorted++) {
            const TaskId task = queue_[sorted];
            std::size_t place = sorted;
            for (work.searched++; place > 0 && before(task, queue_[place - 1]); place--) {
                queue_[place] = queue_[place - 1];
                work.searched++;
            }
            queue_[place] = task;
        }
    }

    std::vector<TaskId> queue_; // runnable and not running, in order
    std::vector<std::uint64_t> arrival_;
    std::uint64_t arrivals_ = 0;
};

std::unique_ptr<Policy> make(const PolicySettings &settings)
{
    return std::make_unique<Linux2030Sorted>(settings.cpus);
}

} // namespace

extern const PolicyKind linux_2_0_30_sorted;
const PolicyKind linux_2_0_30_sorted = {
    "linux_2_0_30_sorted",
    "sorted",
    "Linux 2.0.30 with a run queue that is kept sorted",
    "R. Appleton, Understanding a Context Switching Benchmark, Linux Journal 57 (1999): the idea that it weighs and "
    "leaves",
    linux_2_0_tick,
    false,
    make,
    driven_by<Linux2030Sorted>(),
};

} // namespace schedsim
