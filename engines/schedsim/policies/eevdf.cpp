// SPDX-License-Identifier: Apache-2.0
#include "fair_queue.hpp"
#include "schedsim/driven.hpp"

namespace schedsim
{
namespace
{

constexpr Nanoseconds base_slice = 750 * microsecond; // for one CPU, scaled with their number

// Of those that have not had more than their share (eligible: not before the average of virtual time), who has the
// earliest virtual deadline runs, until its slice is used up or it leaves.
class Eevdf final : public FairQueues
{
  public:
    explicit Eevdf(const PolicySettings &settings)
        : FairQueues(settings.cpus),
          slice_(settings.quantum > 0 ? settings.quantum : scaled(base_slice, settings.cpus)),
          tick_(settings.tick > 0 ? settings.tick : fair_tick)
    {
    }

    void ready(TaskId id, CpuId number, Nanoseconds, Nanoseconds, Work &work) override
    {
        Cpu &cpu = cpus_[number];
        const Nanoseconds average = average_of(cpu).value();
        forgive(id, number, average);
        join(cpu, id, average);
        insert(cpu, id, work);
    }

    // What it had too much or too little is remembered, but never more than a slice and a tick of it.
    void left(TaskId id, CpuId number, Nanoseconds) override
    {
        Cpu &cpu = cpus_[number];
        keep_lag(cpu, id);
        tasks_[id].cpu = number;
        cpu.running = no_task;
        cpu.weight -= tasks_[id].weight;
    }

    // The deadline moves on by a slice; the task stays eligible if it was.
    void yielded(TaskId id, CpuId, Nanoseconds) override
    {
        tasks_[id].deadline += in_virtual_time(slice_, tasks_[id]);
        tasks_[id].turn = slice_;
    }

    void ran(TaskId id, CpuId, Nanoseconds time) override
    {
        FairTask &task = tasks_[id];
        task.virtual_time += in_virtual_time(time, task);
        task.turn += time;
    }

    bool tick(TaskId running, CpuId number, Nanoseconds) override
    {
        return slice_over(running) && !cpus_[number].queue.empty();
    }

    bool preempts(TaskId woken, TaskId running, CpuId number) override
    {
        const Cpu &cpu = cpus_[number];
        // The kernel accounts for the running one here too, and not at ticks alone: update_curr() at each wake-up.
        if (slice_over(running))
            return true;
        const Average average = average_of(cpu);
        const bool stays_eligible = average.not_before(tasks_[running].virtual_time);
        if (stays_eligible && tasks_[running].turn < slice_)
            return false;
        return cpu.queue[best_of(cpu, average)] == woken &&
               (!stays_eligible || tasks_[woken].deadline < tasks_[running].deadline);
    }

    TaskId choose(CpuId number, TaskId previous, Nanoseconds, Work &work) override
    {
        Cpu &cpu = cpus_[number];
        work.searched++;
        // RUN_TO_PARITY: the running one goes on until its slice is used up or it has had more than its share.
        if (previous != no_task && tasks_[previous].turn < slice_ &&
            average_of(cpu).not_before(tasks_[previous].virtual_time))
            return previous;
        if (previous != no_task) {
            cpu.running = no_task;
            insert(cpu, previous, work);
        }
        if (cpu.queue.empty() && !steal(number, work))
            return cpu.running = no_task;
        work.searched += tree_steps(cpu);
        const TaskId best = take(cpu, best_of(cpu, average_of(cpu)));
        cpu.sum -= weighted(best);
        cpu.running = best;
        if (best != previous || tasks_[best].turn >= slice_)
            tasks_[best].turn = 0;
        return best;
    }

  private:
    // The average of virtual time by weight, as a sum and a weight so that nothing is lost by division. Without tasks it
    // is where virtual time goes on.
    struct Average {
        __int128 sum = 0;
        std::int64_t weight = 0;
        Nanoseconds near = 0;
        bool not_before(Nanoseconds virtual_time) const
        {
            return sum >= static_cast<__int128>(virtual_time) * weight;
        }
        Nanoseconds value() const
        {
            if (weight == 0)
                return near;
            // Relative to something near it nearly always fits into 64 bits, whose division is several times as quick.
            const __int128 apart = sum - static_cast<__int128>(near) * weight;
            const auto narrow = static_cast<std::int64_t>(apart);
            return near + (narrow == apart ? rounded_down(narrow, weight)
                                           : static_cast<Nanoseconds>(rounded_down<__int128>(apart, weight)));
        }
    };

    // Down, as the kernel rounds. The weights of 1, 2, 4 … tasks of nice 0 make a power of 2, by which is shifted.
    template <typename Number> static Number rounded_down(Number number, std::int64_t by)
    {
        if ((by & (by - 1)) == 0)
            return number >> std::countr_zero(static_cast<std::uint64_t>(by));
        return number / by - (number % by < 0);
    }

    __int128 weighted(TaskId id) const
    {
        return static_cast<__int128>(tasks_[id].virtual_time) * tasks_[id].weight;
    }

    Average average_of(const Cpu &cpu) const
    {
        return {cpu.running == no_task ? cpu.sum : cpu.sum + weighted(cpu.running), cpu.weight, cpu.floor};
    }

    // The place in the queue, which is not empty, of the eligible one with the earliest deadline; of all, should rounding
    // leave nobody eligible.
    std::size_t best_of(const Cpu &cpu, const Average &average) const
    {
        if (cpu.queue.size() > 1)
            for (std::size_t place = 0; place < cpu.queue.size(); place++)
                if (average.not_before(tasks_[cpu.queue[place]].virtual_time))
                    return place;
        return 0;
    }

    // Whether the running task has used up its slice; then it gets a new deadline.
    bool slice_over(TaskId running)
    {
        FairTask &task = tasks_[running];
        if (task.virtual_time < task.deadline)
            return false;
        task.deadline = task.virtual_time + in_virtual_time(slice_, task);
        task.turn = slice_;
        return true;
    }

    void keep_lag(Cpu &cpu, TaskId id)
    {
        const Nanoseconds average = average_of(cpu).value();
        const Nanoseconds most = in_virtual_time(std::max(2 * slice_, tick_), tasks_[id]);
        tasks_[id].lag = std::clamp(average - tasks_[id].virtual_time, -most, most);
        cpu.floor = average; // where virtual time goes on should everybody leave
    }

    // Since Linux 6.12 (delayed dequeue) who has had too much and sleeps works it off: it owes only what virtual time
    // has not yet caught up with.
    void forgive(TaskId id, CpuId number, Nanoseconds average)
    {
        FairTask &task = tasks_[id];
        if (task.lag < 0 && task.cpu == number)
            task.lag = std::min<Nanoseconds>(0, average - task.virtual_time);
    }

    // Places a task so that its lag is what it was when it left, once its own weight moves the average.
    void join(Cpu &cpu, TaskId id, Nanoseconds average)
    {
        FairTask &task = tasks_[id];
        Nanoseconds lag = task.lag;
        if (cpu.weight > 0)
            lag = lag * (cpu.weight + task.weight) / cpu.weight;
        task.virtual_time = average - lag;
        task.deadline = task.virtual_time + in_virtual_time(slice_, task);
        task.turn = 0;
        cpu.weight += task.weight;
    }

    void insert(Cpu &cpu, TaskId id, Work &work)
    {
        work.searched += tree_steps(cpu);
        enqueue(cpu, id, &FairTask::deadline);
        cpu.sum += weighted(id);
    }

    bool steal(CpuId number, Work &work)
    {
        const CpuId longest = longest_other(number);
        if (longest == number)
            return false;
        Cpu &from = cpus_[longest], &to = cpus_[number];
        const TaskId id = from.queue.back();
        const Nanoseconds floor = from.floor;
        keep_lag(from, id);
        from.floor = floor;
        from.queue.pop_back();
        from.sum -= weighted(id);
        from.weight -= tasks_[id].weight;
        join(to, id, average_of(to).value());
        insert(to, id, work);
        return true;
    }

    Nanoseconds slice_, tick_;
};

std::unique_ptr<Policy> make(const PolicySettings &settings)
{
    return std::make_unique<Eevdf>(settings);
}

} // namespace

extern const PolicyKind eevdf;
const PolicyKind eevdf = {
    "eevdf",
    "",
    "Earliest Eligible Virtual Deadline First",
    "I. Stoica, H. Abdel-Wahab, Earliest Eligible Virtual Deadline First, TR-95-22, Old Dominion University (1995); "
    "P. Zijlstra, Linux 6.6 to 6.12, kernel/sched/fair.c: pick_eevdf(), place_entity(), yield_task_fair(), delayed "
    "dequeue",
    fair_tick,
    true,
    make,
    driven_by<Eevdf>(),
};

} // namespace schedsim
