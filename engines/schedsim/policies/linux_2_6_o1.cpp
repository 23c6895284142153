// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <deque>

#include "schedsim/driven.hpp"

namespace schedsim
{
namespace
{

constexpr int levels = 140; // priorities; 0 to 99 are for real time, which nobody has here
constexpr int user_first = 100;
constexpr int default_slice_ticks = 100; // of nice 0
constexpr int smallest_slice_ticks = 5;
constexpr int most_bonus = 10;             // 5 up, 5 down
constexpr Nanoseconds most_sleep = second; // an average sleep of this gives all of the bonus
constexpr int interactive_delta = 2;

// Tasks by priority with a bitmap of the levels that have any: the best is found in a few steps, always as many.
struct PriorityArray {
    std::array<std::deque<TaskId>, levels> level;
    std::array<std::uint64_t, (levels + 63) / 64> map{};
    std::uint32_t count = 0;

    void push(TaskId task, int priority)
    {
        level[static_cast<std::size_t>(priority)].push_back(task);
        map[static_cast<std::size_t>(priority) / 64] |= std::uint64_t{1} << (priority % 64);
        count++;
    }

    void remove(TaskId task, int priority)
    {
        auto &queue = level[static_cast<std::size_t>(priority)];
        queue.erase(std::find(queue.begin(), queue.end(), task));
        if (queue.empty())
            map[static_cast<std::size_t>(priority) / 64] &= ~(std::uint64_t{1} << (priority % 64));
        count--;
    }

    TaskId first() const
    {
        for (std::size_t word = 0; word < map.size(); word++)
            if (map[word] != 0)
                return level[word * 64 + static_cast<std::size_t>(std::countr_zero(map[word]))].front();
        return no_task;
    }
};

// Two arrays a CPU. Who has used up its slice gets a new one at once and goes to the expired array, except that tasks
// that sleep much stay in the active one unless somebody starves; when the active array is empty, the two change
// places. No loop over all tasks is left. The running task stays in its array.
class Linux26O1 final : public Policy
{
  public:
    explicit Linux26O1(CpuId cpus) : cpus_(cpus)
    {
    }

    void created(TaskId task, int nice) override
    {
        tasks_.resize(task + 1);
        tasks_[task].fixed = user_first + 20 + nice;
        tasks_[task].priority = priority(tasks_[task]);
        tasks_[task].slice = slice(tasks_[task]);
    }

    void ended(TaskId) override
    {
    }

    void ready(TaskId id, CpuId cpu, Nanoseconds slept, Nanoseconds, Work &) override
    {
        Task &task = tasks_[id];
        // The less the bonus, the faster it grows.
        const int boost = std::max(1, most_bonus - bonus(task));
        task.sleep_average =
            std::min(most_sleep, task.sleep_average + std::min(slept, most_sleep) * static_cast<Nanoseconds>(boost));
        task.priority = priority(task);
        push(id, cpu, false);
    }

    void left(TaskId id, CpuId, Nanoseconds) override
    {
        remove(id);
    }

    void yielded(TaskId id, CpuId cpu, Nanoseconds) override
    {
        remove(id);
        push(id, cpu, true);
    }

    void ran(TaskId id, CpuId, Nanoseconds time) override
    {
        Task &task = tasks_[id];
        task.sleep_average = std::max<Nanoseconds>(0, task.sleep_average - time / std::max(1, bonus(task)));
    }

    bool tick(TaskId id, CpuId number, Nanoseconds now) override
    {
        Task &task = tasks_[id];
        if (task.expired) // it yielded, and nobody else was there
            return true;
        if (--task.slice > 0)
            return false;
        remove(id);
        task.priority = priority(task);
        task.slice = slice(task);
        Cpu &cpu = cpus_[number];
        if (cpu.expired_since == never)
            cpu.expired_since = now;
        push(id, number, !interactive(task) || starving(cpu, now));
        return true;
    }

    bool preempts(TaskId woken, TaskId running, CpuId) override
    {
        return tasks_[woken].priority < tasks_[running].priority;
    }

    TaskId choose(CpuId number, TaskId, Nanoseconds, Work &work) override
    {
        Cpu &cpu = cpus_[number];
        work.searched++;
        if (cpu.active().count + cpu.expired().count == 0)
            steal(number);
        if (cpu.active().count == 0 && cpu.expired().count != 0) {
            cpu.active_one ^= 1;
            for (const auto &level : cpu.active().level)
                for (const TaskId task : level)
                    tasks_[task].expired = false;
            cpu.expired_since = never;
        }
        cpu.running = cpu.active().first();
        return cpu.running;
    }

    std::vector<TaskId> runnable() const override
    {
        std::vector<TaskId> all;
        for (const Cpu &cpu : cpus_)
            for (const PriorityArray &array : cpu.arrays)
                for (const auto &level : array.level)
                    all.insert(all.end(), level.begin(), level.end());
        return all;
    }

  private:
    struct Task {
        int fixed = 0;    // by nice
        int priority = 0; // with the bonus, as it was when it was queued
        int slice = 0;    // ticks left
        bool expired = false;
        CpuId cpu = 0;
        Nanoseconds sleep_average = 0;
    };

    struct Cpu {
        std::array<PriorityArray, 2> arrays;
        std::size_t active_one = 0;
        Nanoseconds expired_since = never; // when the first task went to the expired array
        TaskId running = no_task;
        PriorityArray &active()
        {
            return arrays[active_one];
        }
        PriorityArray &expired()
        {
            return arrays[active_one ^ 1];
        }
    };

    static int bonus(const Task &task)
    {
        return static_cast<int>(task.sleep_average * most_bonus / most_sleep);
    }

    static int priority(const Task &task)
    {
        return std::clamp(task.fixed - bonus(task) + most_bonus / 2, user_first, levels - 1);
    }

    static int slice(const Task &task)
    {
        const int whole = task.fixed < user_first + 20 ? 4 * default_slice_ticks : default_slice_ticks;
        return std::max(smallest_slice_ticks, whole * (levels - task.fixed) / 20);
    }

    static bool interactive(const Task &task)
    {
        const int delta = (task.fixed - user_first - 20) * most_bonus / 40 + interactive_delta;
        return task.priority <= task.fixed - delta;
    }

    // Whether the expired have waited for a second for each runnable task: then nobody may stay before them.
    bool starving(Cpu &cpu, Nanoseconds now) const
    {
        const Nanoseconds limit = most_sleep * (cpu.active().count + cpu.expired().count + 1);
        return cpu.expired_since != never && now - cpu.expired_since >= limit;
    }

    void push(TaskId id, CpuId number, bool expired)
    {
        Task &task = tasks_[id];
        task.cpu = number;
        task.expired = expired;
        (expired ? cpus_[number].expired() : cpus_[number].active()).push(id, task.priority);
    }

    void remove(TaskId id)
    {
        Task &task = tasks_[id];
        Cpu &cpu = cpus_[task.cpu];
        (task.expired ? cpu.expired() : cpu.active()).remove(id, task.priority);
    }

    // An idle CPU takes a waiting task from the one that has most.
    void steal(CpuId number)
    {
        CpuId longest = number;
        std::uint32_t most = 1;
        for (CpuId other = 0; other < cpus_.size(); other++) {
            const std::uint32_t count = cpus_[other].arrays[0].count + cpus_[other].arrays[1].count;
            if (other != number && count > most) {
                most = count;
                longest = other;
            }
        }
        if (longest == number)
            return;
        for (PriorityArray *array : {&cpus_[longest].expired(), &cpus_[longest].active()})
            for (const auto &level : array->level)
                for (const TaskId task : level)
                    if (task != cpus_[longest].running) {
                        remove(task);
                        push(task, number, false);
                        return;
                    }
    }

    std::vector<Cpu> cpus_;
    std::vector<Task> tasks_;
};

std::unique_ptr<Policy> make(const PolicySettings &settings)
{
    return std::make_unique<Linux26O1>(settings.cpus);
}

} // namespace

extern const PolicyKind linux_2_6_o1;
const PolicyKind linux_2_6_o1 = {
    "linux_2_6_o1",
    "o1",
    "the O(1) scheduler of Linux 2.6: arrays by priority, active and expired",
    "I. Molnar, Linux 2.6.8 to 2.6.22, kernel/sched.c and Documentation/sched-design.txt; J. Aas, Understanding the "
    "Linux 2.6.8.1 CPU Scheduler (2005)",
    millisecond,
    false,
    make,
    driven_by<Linux26O1>(),
};

} // namespace schedsim
