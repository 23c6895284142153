// SPDX-License-Identifier: Apache-2.0
#include "fair_queue.hpp"
#include "schedsim/driven.hpp"

namespace schedsim
{
namespace
{

// Who has had the least virtual time runs. Set for one CPU and scaled with their number.
constexpr Nanoseconds base_latency = 6 * millisecond;       // in which everyone should have run once
constexpr Nanoseconds base_granularity = 750 * microsecond; // the shortest turn
constexpr Nanoseconds base_wake_granularity = millisecond;  // by how much a woken task must be behind to preempt

class Cfs final : public FairQueues
{
  public:
    explicit Cfs(CpuId cpus)
        : FairQueues(cpus), latency_(scaled(base_latency, cpus)), granularity_(scaled(base_granularity, cpus)),
          wake_granularity_(scaled(base_wake_granularity, cpus))
    {
    }

    void ready(TaskId id, CpuId number, Nanoseconds, Nanoseconds, Work &work) override
    {
        Cpu &cpu = cpus_[number];
        FairTask &task = tasks_[id];
        // A sleeper is placed half a latency before the others at most, and never gains by a short sleep.
        task.virtual_time = std::max(task.virtual_time, cpu.floor - latency_ / 2);
        cpu.weight += task.weight;
        insert(cpu, id, work);
        raise_floor(cpu);
    }

    void left(TaskId id, CpuId number, Nanoseconds) override
    {
        Cpu &cpu = cpus_[number];
        cpu.running = no_task;
        cpu.weight -= tasks_[id].weight;
        raise_floor(cpu);
    }

    // The next choice passes over it, unless nobody else is near.
    void yielded(TaskId id, CpuId, Nanoseconds) override
    {
        passed_over_ = id;
    }

    void ran(TaskId id, CpuId number, Nanoseconds time) override
    {
        tasks_[id].virtual_time += in_virtual_time(time, tasks_[id]);
        tasks_[id].turn += time;
        raise_floor(cpus_[number]);
    }

    bool tick(TaskId running, CpuId number, Nanoseconds) override
    {
        const Cpu &cpu = cpus_[number];
        if (cpu.queue.empty())
            return false;
        const FairTask &task = tasks_[running];
        const Nanoseconds share = slice(cpu, task);
        if (task.turn > share)
            return true;
        return task.turn >= granularity_ && task.virtual_time - tasks_[cpu.queue.front()].virtual_time > share;
    }

    bool preempts(TaskId woken, TaskId running, CpuId) override
    {
        return tasks_[running].virtual_time - tasks_[woken].virtual_time >
               in_virtual_time(wake_granularity_, tasks_[woken]);
    }

    TaskId choose(CpuId number, TaskId previous, Nanoseconds, Work &work) override
    {
        Cpu &cpu = cpus_[number];
        work.searched++;
        if (previous != no_task) {
            cpu.running = no_task;
            insert(cpu, previous, work);
        }
        const TaskId over = passed_over_;
        passed_over_ = no_task;
        if (cpu.queue.empty() && !steal(number, work))
            return cpu.running = no_task;
        std::size_t place = 0;
        if (cpu.queue.front() == over && cpu.queue.size() > 1) {
            const Nanoseconds apart = tasks_[cpu.queue[1]].virtual_time - tasks_[over].virtual_time;
            place = apart <= in_virtual_time(wake_granularity_, tasks_[cpu.queue[1]]);
        }
        const TaskId chosen = take(cpu, place);
        if (chosen != previous || over == previous)
            tasks_[chosen].turn = 0;
        cpu.running = chosen;
        raise_floor(cpu);
        return chosen;
    }

  private:
    // A task's share of the latency by weight; with many tasks the latency grows so that nobody's turn is too short.
    Nanoseconds slice(const Cpu &cpu, const FairTask &task) const
    {
        const auto count = static_cast<Nanoseconds>(cpu.queue.size() + 1);
        return std::max(latency_, granularity_ * count) * task.weight / cpu.weight;
    }

    void insert(Cpu &cpu, TaskId id, Work &work)
    {
        work.searched += tree_steps(cpu);
        enqueue(cpu, id, &FairTask::virtual_time);
    }

    void raise_floor(Cpu &cpu)
    {
        if (cpu.running == no_task && cpu.queue.empty())
            return;
        Nanoseconds smallest = never;
        if (cpu.running != no_task)
            smallest = tasks_[cpu.running].virtual_time;
        if (!cpu.queue.empty())
            smallest = std::min(smallest, tasks_[cpu.queue.front()].virtual_time);
        cpu.floor = std::max(cpu.floor, smallest);
    }

    bool steal(CpuId number, Work &work)
    {
        const CpuId longest = longest_other(number);
        if (longest == number)
            return false;
        Cpu &from = cpus_[longest], &to = cpus_[number];
        const TaskId id = from.queue.back();
        from.queue.pop_back();
        from.weight -= tasks_[id].weight;
        to.weight += tasks_[id].weight;
        tasks_[id].virtual_time += to.floor - from.floor;
        insert(to, id, work);
        return true;
    }

    Nanoseconds latency_, granularity_, wake_granularity_;
    TaskId passed_over_ = no_task;
};

std::unique_ptr<Policy> make(const PolicySettings &settings)
{
    return std::make_unique<Cfs>(settings.cpus);
}

} // namespace

extern const PolicyKind cfs;
const PolicyKind cfs = {
    "cfs",
    "",
    "the Completely Fair Scheduler: who has had least virtual time runs",
    "I. Molnar, Linux 2.6.23 to 6.5, kernel/sched/fair.c and Documentation/scheduler/sched-design-CFS.rst",
    fair_tick,
    true,
    make,
    driven_by<Cfs>(),
};

} // namespace schedsim
