// SPDX-License-Identifier: Apache-2.0
#include "schedsim/driven.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace schedsim
{

void Load::called(std::uint32_t, Simulation &)
{
}

void Load::left(TaskId, Simulation &)
{
}

Simulation::Simulation(const PolicyKind &kind, const PolicySettings &settings, const Costs &costs)
    : policy_(kind.make(settings)), driven_(kind.driven), costs_(costs),
      tick_length_(settings.tick > 0 && kind.any_tick ? settings.tick : kind.tick), cpus_(settings.cpus)
{
}

TaskId Simulation::create(int nice, ClassId of)
{
    const TaskId task = tasks();
    tasks_.emplace_back();
    tasks_.back().since = now_;
    tasks_.back().cpu = task % cpus();
    tasks_.back().of = of;
    if (of >= statistics_.classes.size())
        statistics_.classes.resize(of + 1);
    policy_->created(task, nice);
    statistics_.created++;
    return task;
}

void Simulation::call_at(Nanoseconds moment, std::uint32_t token)
{
    events_.push(std::max(moment, now_), no_task, token);
}

Nanoseconds Simulation::used(TaskId id) const
{
    const Task &task = tasks_[id];
    const Nanoseconds from = cpus_[task.cpu].from;
    return task.used + (task.state == State::running && now_ > from ? now_ - from : 0);
}

Nanoseconds Simulation::waited(TaskId id) const
{
    const Task &task = tasks_[id];
    return task.waited + (task.state == State::ready ? now_ - task.since : 0);
}

void Simulation::note_response(TaskId task, Nanoseconds time)
{
    statistics_.classes[tasks_[task].of].response.add(time);
}

void Simulation::begin(Load &load, Nanoseconds until)
{
    load_ = &load;
    until_ = until;
    load.begin(*this);
}

void Simulation::run(Load &load, Nanoseconds until)
{
    begin(load, until);
    driven_.run(*this);
    for (CpuId number = 0; number < cpus(); number++)
        account<Policy>(number);
    length_changes(0);
    statistics_.time = now_ - began_;
}

void Simulation::forget()
{
    for (CpuId number = 0; number < cpus(); number++)
        account<Policy>(number);
    const std::size_t classes = statistics_.classes.size();
    statistics_ = Statistics{};
    statistics_.classes.resize(classes);
    began_ = length_since_ = now_;
}

void Simulation::verify() const
{
    std::vector<TaskId> held = policy_->runnable(), ours;
    std::sort(held.begin(), held.end());
    std::vector<int> runs(tasks_.size());
    for (const Cpu &cpu : cpus_)
        if (cpu.running != no_task)
            runs[cpu.running]++;
    for (TaskId id = 0; id < tasks(); id++) {
        const State state = tasks_[id].state;
        if (runs[id] != (state == State::running))
            throw std::logic_error("task " + std::to_string(id) + " runs on " + std::to_string(runs[id]) + " CPUs");
        if (state == State::ready || state == State::running)
            ours.push_back(id);
    }
    if (held != ours)
        throw std::logic_error("the policy holds " + std::to_string(held.size()) + " runnable tasks, and there are " +
                               std::to_string(ours.size()) + ", or not the same ones");
    if (ours.size() != runnable_)
        throw std::logic_error("the length of the queue is wrong");
    if (busy_cpus_ < std::min<std::size_t>(cpus(), ours.size()))
        throw std::logic_error("a task waits while a CPU is idle");
}

} // namespace schedsim
