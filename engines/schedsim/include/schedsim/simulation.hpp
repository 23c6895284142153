// SPDX-License-Identifier: Apache-2.0
// A discrete-event simulation of CPUs on which tasks run, yield, sleep and end under a policy.
//
// The simulation owns the tasks' states and the time, the policy the order, the load what tasks do. What a policy does
// takes time on the CPU on which it does it (Costs): nobody runs there meanwhile. Everything is in whole numbers, and
// events of the same moment go in the order in which they were asked for, so a result depends on its input alone.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "schedsim/events.hpp"
#include "schedsim/histogram.hpp"
#include "schedsim/policy.hpp"
#include "schedsim/time.hpp"

namespace schedsim
{

// What the work of the scheduler costs.
struct Costs {
    Nanoseconds entry = 0;         // a call of the scheduler, whatever it does
    Nanoseconds search = 0;        // a task looked at
    Nanoseconds recalculation = 0; // a task given a new priority by the loop over all
    Nanoseconds change = 0;        // a change of the CPU to another task than before
};

// What a task does next: use the CPU for so long, and then this. `more` is another step at once, without the scheduler.
struct Step {
    enum class Then : std::uint8_t { yield, sleep, wait, more, end };
    Nanoseconds run = 0;
    Then then = Then::end;
    Nanoseconds sleep = 0; // how long, for sleep; wait lasts until the load wakes the task
};

inline constexpr std::size_t longest_counted = 1024; // longer queues count as this long

using ClassId = std::uint32_t; // tasks that are looked at together; numbered from 0

struct ClassStatistics {
    Histogram wake_up;   // from a task's wake-up until it runs
    Histogram response;  // of what its load calls a piece of work, from when it was due until it was done
    Nanoseconds busy = 0;
};

// Choices that were made among about as many tasks, and the time of the scheduler that they took.
struct Choices {
    std::uint64_t count = 0;
    Nanoseconds spent = 0;
};

struct Statistics {
    Nanoseconds time = 0;        // from the beginning to the end
    Nanoseconds busy = 0;        // CPU time of tasks, over all CPUs
    Nanoseconds overhead = 0;    // CPU time of the scheduler, over all CPUs
    std::uint64_t calls = 0;     // of the scheduler
    std::uint64_t switches = 0;  // changes of what a CPU runs, where nothing counts as something: what a kernel counts
    std::uint64_t voluntary = 0; // switches because a task slept, waited or ended
    std::uint64_t involuntary = 0; // switches away from a task that could have gone on; a yield's is one
    std::uint64_t yields = 0;
    std::uint64_t switching_yields = 0; // yields after which another task ran
    std::uint64_t wakes = 0;
    std::uint64_t created = 0;
    std::uint64_t ticks = 0; // on CPUs that ran a task
    std::uint64_t searched = 0;
    std::uint64_t recalculations = 0; // runs of the loop over all tasks
    std::uint64_t recalculated = 0;   // tasks in them
    Nanoseconds longest_wait = 0;     // of a runnable task for a CPU
    // Switches at which so many tasks were runnable, the one that is chosen included.
    std::array<std::uint64_t, longest_counted + 1> switches_at_length{};
    // Choices of a task among 1 that is runnable, 2 to 3, 4 to 7 and so on.
    std::array<Choices, std::bit_width(longest_counted)> choices{};
    // Time during which so many tasks were runnable.
    std::array<Nanoseconds, longest_counted + 1> time_at_length{};
    std::vector<ClassStatistics> classes; // by ClassId
};

class Simulation;

// What tasks do.
class Load
{
  public:
    virtual ~Load() = default;
    // Create the first tasks, wake them, ask for the first calls.
    virtual void begin(Simulation &simulation) = 0;
    // The next step of a task whose last one is over, or that never ran. Asked when the task gets the CPU.
    virtual Step next(TaskId task, Simulation &simulation) = 0;
    // The task has begun to sleep or to wait, or has ended, and its CPU has not chosen another yet.
    virtual void left(TaskId task, Simulation &simulation);
    // A moment that was asked for by call_at() has come.
    virtual void called(std::uint32_t token, Simulation &simulation);
    // Whether this was all; asked after each event.
    virtual bool over(const Simulation &simulation) const = 0;
};

class Simulation
{
  public:
    Simulation(const PolicyKind &kind, const PolicySettings &settings, const Costs &costs);

    // --- for loads ---
    TaskId create(int nice = 0, ClassId of = 0); // a task that waits
    void wake(TaskId task) // no effect on a task that is awake
    {
        driven_.wake(*this, task);
    }
    void call_at(Nanoseconds moment, std::uint32_t token);
    void forget(); // begin the statistics anew: what was until now was warming up
    void note_response(TaskId task, Nanoseconds time); // it was due so long ago and is done

    // --- to run ---
    // From the beginning to the end: until the load is over, or this moment. To be called once.
    void run(Load &load, Nanoseconds until);
    // The same in single events, for tests: false when it is over.
    void begin(Load &load, Nanoseconds until);
    bool advance()
    {
        return driven_.advance(*this);
    }

    // --- to look at ---
    Nanoseconds now() const
    {
        return now_;
    }
    const Statistics &statistics() const
    {
        return statistics_;
    }
    CpuId cpus() const
    {
        return static_cast<CpuId>(cpus_.size());
    }
    TaskId tasks() const
    {
        return static_cast<TaskId>(tasks_.size());
    }
    TaskId running(CpuId cpu) const
    {
        return cpus_[cpu].running;
    }
    Nanoseconds used(TaskId task) const;   // CPU time so far, up to now
    Nanoseconds waited(TaskId task) const; // time so far in which it was runnable and did not run
    ClassId class_of(TaskId task) const
    {
        return tasks_[task].of;
    }
    std::uint32_t runnable() const
    {
        return runnable_;
    }
    // Throws std::logic_error if a task is lost, runs twice, or waits while a CPU is idle.
    void verify() const;

  private:
    enum class State : std::uint8_t { waiting, ready, running, ended };

    struct Task {
        State state = State::waiting;
        bool in_step = false; // its step is not over
        CpuId cpu = 0;        // where it runs, or ran last
        ClassId of = 0;
        Step step;
        Nanoseconds left = 0;  // CPU time until the step's end
        Nanoseconds since = 0; // when it entered its state
        Nanoseconds used = 0;
        Nanoseconds waited = 0;
        Nanoseconds woken = never; // when, until it runs
    };

    struct Cpu {
        TaskId running = no_task;
        bool choose_anew = false;
        Nanoseconds from = 0;    // since when the running task runs: the scheduler's own time is before it
        Nanoseconds owed = 0;    // what waking tasks cost the scheduler since it last chose
        Nanoseconds due = never; // the next event: end of its step, or of the scheduler's time if it chooses anew
    };

    // In driven.hpp; P is the class of the policy, or Policy.
    template <typename P> friend constexpr Driven driven_by();
    template <typename P> P &policy();
    template <typename P, bool one> bool go_on();
    template <typename P> void wake_by(TaskId task);
    template <typename P> void account(CpuId cpu);
    template <typename P> void choose(CpuId cpu, TaskId previous, bool yielded);
    template <typename P> void step_over(CpuId cpu);
    template <typename P> void tick(Nanoseconds of_event);
    template <typename P> void further_ticks(Nanoseconds last);
    Nanoseconds book(Cpu &cpu);
    void set_due(CpuId cpu);
    void take_step(TaskId task);
    void length_changes(std::int32_t by);
    CpuId place(TaskId task) const;

    std::unique_ptr<Policy> policy_;
    Driven driven_;
    Costs costs_;
    Nanoseconds tick_length_;
    Nanoseconds now_ = 0;
    Nanoseconds until_ = never;
    Nanoseconds next_tick_ = never;
    Nanoseconds began_ = 0; // the statistics
    Nanoseconds length_since_ = 0;
    std::uint32_t runnable_ = 0;
    std::uint32_t busy_cpus_ = 0;
    Load *load_ = nullptr;
    std::vector<Cpu> cpus_;
    std::vector<Task> tasks_;
    Events events_;
    Statistics statistics_;
};

} // namespace schedsim
