// SPDX-License-Identifier: Apache-2.0
// What a scheduling policy is: it keeps the runnable tasks and says who runs next. One file of policies/ holds one
// policy and defines `extern const PolicyKind <name>`, where <name> is the file's; the build collects them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "schedsim/time.hpp"

namespace schedsim
{

using TaskId = std::uint32_t; // numbered from 0 in the order of their creation
using CpuId = std::uint32_t;

inline constexpr TaskId no_task = ~TaskId{0};

// What a choice has cost in steps; Costs turns it into time.
struct Work {
    std::uint32_t searched = 0;     // tasks looked at to find the best, or a place in an ordered queue
    std::uint32_t recalculated = 0; // tasks given a new priority by a loop over all
};

// A task is runnable from ready() to left(); a running one is runnable. The simulation calls in the order of time.
class Policy
{
  public:
    virtual ~Policy() = default;

    // A task exists, and sleeps. `nice` is from -20 to 19.
    virtual void created(TaskId task, int nice) = 0;
    virtual void ended(TaskId task) = 0; // after left()

    // The task became runnable after it had slept for so long; `cpu` is where it should run.
    virtual void ready(TaskId task, CpuId cpu, Nanoseconds slept, Nanoseconds now, Work &work) = 0;
    virtual void left(TaskId task, CpuId cpu, Nanoseconds now) = 0;    // the running task sleeps or ends
    virtual void yielded(TaskId task, CpuId cpu, Nanoseconds now) = 0; // the running task gives way and stays runnable

    // The running task used the CPU for so long since ready, choose or the last call of this.
    virtual void ran(TaskId task, CpuId cpu, Nanoseconds time) = 0;

    // The timer's tick, with all time accounted by ran(): whether the CPU should choose anew.
    virtual bool tick(TaskId running, CpuId cpu, Nanoseconds now) = 0;

    // Whether a task that has just become ready should take the CPU from the running one.
    virtual bool preempts(TaskId woken, TaskId running, CpuId cpu) = 0;

    // Who runs next on this CPU; `previous` is the task that ran until now and is still runnable, or no_task. Never a
    // task that runs on another CPU; no_task only if there is none that could run here.
    virtual TaskId choose(CpuId cpu, TaskId previous, Nanoseconds now, Work &work) = 0;

    // All runnable tasks, running ones included, in any order: for tests, which hold it against the simulation's own.
    virtual std::vector<TaskId> runnable() const = 0;
};

struct PolicySettings {
    CpuId cpus = 1;
    Nanoseconds quantum = 0; // of a policy that has one length of turn; 0 for its default
    Nanoseconds tick = 0;    // of a policy that may have any; 0 for its default
};

class Simulation;

// What a simulation does with its policy, for the policy's own class: driven_by<P>() of driven.hpp. Millions of calls a
// second are then no virtual ones.
struct Driven {
    void (*wake)(Simulation &simulation, TaskId task);
    bool (*advance)(Simulation &simulation);
    void (*run)(Simulation &simulation);
};

struct PolicyKind {
    const char *name;  // of its file
    const char *alias; // a shorter one, or ""
    const char *title;
    const char *source;
    Nanoseconds tick; // between two interrupts of the timer
    bool any_tick;    // whether its kernels are built for various ticks, so that the settings may name another
    std::unique_ptr<Policy> (*make)(const PolicySettings &settings);
    Driven driven; // by the class that `make` makes
};

// Every policy, in the order of their names.
const std::vector<const PolicyKind *> &policies();
// The policy of this name or alias; nullptr if there is none.
const PolicyKind *find_policy(const char *name);

} // namespace schedsim
