// SPDX-License-Identifier: Apache-2.0
// What CFS and EEVDF share: virtual time, in which a task ages the slower the more it weighs, and a queue a CPU.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "schedsim/policy.hpp"

namespace schedsim
{

inline constexpr std::int64_t nice_0_weight = 1024;
inline constexpr Nanoseconds fair_tick = millisecond; // HZ = 1000

// A quarter more for each nice below 0, and less above. The kernel's table differs by less than 2 %.
inline std::int64_t weight_of(int nice)
{
    std::int64_t weight = nice_0_weight << 20;
    for (; nice < 0; nice++)
        weight = weight * 5 / 4;
    for (; nice > 0; nice--)
        weight = weight * 4 / 5;
    return std::max<std::int64_t>(1, (weight + (1 << 19)) >> 20);
}

// 1 + log2 of the CPUs, at most 8 of them: by so much the times that are set for one CPU grow.
inline Nanoseconds scaled(Nanoseconds base, CpuId cpus)
{
    return base * std::bit_width(std::min<CpuId>(cpus, 8));
}

struct FairTask {
    std::int64_t weight = nice_0_weight;
    Nanoseconds virtual_time = 0; // relative to its queue
    Nanoseconds deadline = 0;     // EEVDF: in virtual time
    Nanoseconds lag = 0;          // EEVDF: when it left, in virtual time
    CpuId cpu = 0;                // EEVDF: which it left
    Nanoseconds turn = 0;         // CPU time since it was chosen
};

// The order by which the queue is kept is the policy's: before(a, b). The running task is not in the queue.
class FairQueues : public Policy
{
  public:
    explicit FairQueues(CpuId cpus) : cpus_(cpus)
    {
    }

    void created(TaskId task, int nice) override
    {
        tasks_.resize(task + 1);
        tasks_[task].weight = weight_of(nice);
    }

    void ended(TaskId) override
    {
    }

    std::vector<TaskId> runnable() const override
    {
        std::vector<TaskId> all;
        for (const Cpu &cpu : cpus_) {
            all.insert(all.end(), cpu.queue.begin(), cpu.queue.end());
            if (cpu.running != no_task)
                all.push_back(cpu.running);
        }
        return all;
    }

  protected:
    struct Cpu {
        std::vector<TaskId> queue; // runnable and not running, in the policy's order
        TaskId running = no_task;
        Nanoseconds floor = 0;   // CFS: the smallest virtual time, which never falls
        std::int64_t weight = 0; // of all runnable
        __int128 sum = 0;        // EEVDF: of weight times virtual time, over the queue
    };

    static Nanoseconds in_virtual_time(Nanoseconds time, const FairTask &task)
    {
        // Most tasks have this weight: for them nothing is divided.
        return task.weight == nice_0_weight ? time : time * nice_0_weight / task.weight;
    }

    // A balanced tree is searched in as many steps; that this is a sorted vector is nobody's business.
    static std::uint32_t tree_steps(const Cpu &cpu)
    {
        return static_cast<std::uint32_t>(std::bit_width(cpu.queue.size() + 1));
    }

    // Keeps the queue in the order of this time, and equal ones in that of their coming, as in the tree. Most belong near
    // the end.
    void enqueue(Cpu &cpu, TaskId id, Nanoseconds FairTask::*by)
    {
        const Nanoseconds own = tasks_[id].*by;
        std::size_t place = cpu.queue.size();
        cpu.queue.push_back(id);
        for (; place > 0 && own < tasks_[cpu.queue[place - 1]].*by; place--)
            cpu.queue[place] = cpu.queue[place - 1];
        cpu.queue[place] = id;
    }

    static TaskId take(Cpu &cpu, std::size_t place)
    {
        const TaskId task = cpu.queue[place];
        for (; place + 1 < cpu.queue.size(); place++) // most queues are too short for a call of memmove
            cpu.queue[place] = cpu.queue[place + 1];
        cpu.queue.pop_back();
        return task;
    }

    // The CPU with most waiting tasks, or `number` if no other has any.
    CpuId longest_other(CpuId number) const
    {
        CpuId longest = number;
        std::size_t most = 0;
        for (CpuId other = 0; other < cpus_.size(); other++)
            if (other != number && cpus_[other].queue.size() > most) {
                most = cpus_[other].queue.size();
                longest = other;
            }
        return longest;
    }

    std::vector<Cpu> cpus_;
    std::vector<FairTask> tasks_;
};

} // namespace schedsim
