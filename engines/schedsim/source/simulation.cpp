// SPDX-License-Identifier: Apache-2.0
#include "schedsim/simulation.hpp"

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
    : policy_(kind.make(settings)), costs_(costs),
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

// An idle CPU if there is one, the task's own first; else where it ran last.
CpuId Simulation::place(TaskId task) const
{
    const CpuId own = tasks_[task].cpu;
    if (busy_cpus_ == cpus() || cpus_[own].running == no_task)
        return own;
    for (CpuId cpu = 0; cpu < cpus(); cpu++)
        if (cpus_[cpu].running == no_task)
            return cpu;
    return own;
}

void Simulation::wake(TaskId id)
{
    Task &task = tasks_[id];
    if (task.state != State::waiting)
        return;
    const CpuId cpu = place(id);
    const Nanoseconds slept = now_ - task.since;
    task.state = State::ready;
    task.since = task.woken = now_;
    task.cpu = cpu;
    statistics_.wakes++;
    if (cpus_[cpu].running != no_task)
        account(cpu); // a policy that compares used time must know it as it is now
    Work work;
    policy_->ready(id, cpu, slept, now_, work);
    statistics_.searched += work.searched;
    cpus_[cpu].owed += costs_.search * work.searched;
    length_changes(+1);
    if (cpus_[cpu].running == no_task) {
        choose(cpu, no_task, false);
    } else if (policy_->preempts(id, cpus_[cpu].running, cpu)) {
        cpus_[cpu].choose_anew = true;
        set_due(cpu);
    }
}

void Simulation::length_changes(std::int32_t by)
{
    statistics_.time_at_length[std::min<std::size_t>(runnable_, longest_counted)] += now_ - length_since_;
    length_since_ = now_;
    runnable_ += static_cast<std::uint32_t>(by);
}

// Books the time that the running task has used until now. While the scheduler's own time lasts there is none.
void Simulation::account(CpuId number)
{
    Cpu &cpu = cpus_[number];
    if (cpu.running == no_task || now_ <= cpu.from)
        return;
    Task &task = tasks_[cpu.running];
    const Nanoseconds time = now_ - cpu.from;
    task.left -= time;
    task.used += time;
    statistics_.busy += time;
    statistics_.classes[task.of].busy += time;
    cpu.from = now_;
    policy_->ran(cpu.running, number, time);
}

void Simulation::set_due(CpuId number)
{
    Cpu &cpu = cpus_[number];
    if (cpu.running == no_task)
        cpu.due = never;
    else
        cpu.due = cpu.choose_anew ? std::max(now_, cpu.from) : cpu.from + tasks_[cpu.running].left;
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

// Has the policy choose, charges what that costs, and lets the chosen one run.
void Simulation::choose(CpuId number, TaskId previous, bool yielded)
{
    Cpu &cpu = cpus_[number];
    const TaskId before = cpu.running;
    Work work;
    const TaskId next = policy_->choose(number, previous, now_, work);
    const bool changed = next != before;
    statistics_.calls++;
    statistics_.searched += work.searched;
    statistics_.recalculations += work.recalculated != 0;
    statistics_.recalculated += work.recalculated;
    if (changed) {
        statistics_.switches++;
        statistics_.switches_at_length[std::min<std::size_t>(runnable_, longest_counted)]++;
        if (previous != no_task) {
            statistics_.involuntary++;
            tasks_[previous].state = State::ready;
            tasks_[previous].since = now_;
        } else if (before != no_task) {
            statistics_.voluntary++;
        }
        statistics_.switching_yields += yielded;
    }
    cpu.choose_anew = false;
    cpu.running = next;
    if (before == no_task && next != no_task && busy_cpus_++ == 0)
        next_tick_ = (now_ / tick_length_ + 1) * tick_length_;
    if (before != no_task && next == no_task && --busy_cpus_ == 0)
        next_tick_ = never;
    if (next == no_task) {
        // Nothing waits for what an idle CPU does: it costs nobody anything.
        cpu.due = never;
        return;
    }
    const Nanoseconds spent = costs_.entry + costs_.search * work.searched + costs_.recalculation * work.recalculated +
                              (changed ? costs_.change : 0) + cpu.owed;
    cpu.owed = 0;
    cpu.from = now_ + spent;
    statistics_.overhead += spent;
    Choices &alike = statistics_.choices[std::bit_width(std::min<std::size_t>(runnable_, longest_counted)) - 1];
    alike.count++;
    alike.spent += spent;
    if (changed) {
        Task &task = tasks_[next];
        statistics_.longest_wait = std::max(statistics_.longest_wait, now_ - task.since);
        task.waited += now_ - task.since;
        if (task.woken != never)
            statistics_.classes[task.of].wake_up.add(cpu.from - task.woken);
        task.woken = never;
        task.state = State::running;
        task.since = now_;
        task.cpu = number;
    }
    if (!tasks_[next].in_step)
        take_step(next);
    set_due(number);
}

void Simulation::take_step(TaskId id)
{
    tasks_[id].in_step = true;
    const Step step = load_->next(id, *this); // which may create tasks: no reference outlives it
    tasks_[id].step = step;
    tasks_[id].left = step.run;
}

// The step of the running task is over: it yields, sleeps, waits or ends.
void Simulation::step_over(CpuId number)
{
    Cpu &cpu = cpus_[number];
    const TaskId id = cpu.running;
    Task &task = tasks_[id];
    task.in_step = false;
    switch (task.step.then) {
    case Step::Then::yield:
        statistics_.yields++;
        policy_->yielded(id, number, now_);
        choose(number, id, true);
        return;
    case Step::Then::sleep: events_.push(now_ + std::max<Nanoseconds>(0, task.step.sleep), id, 0); break;
    case Step::Then::more:
        take_step(id);
        set_due(number);
        return;
    case Step::Then::wait:
    case Step::Then::end: break;
    }
    task.since = now_;
    task.state = task.step.then == Step::Then::end ? State::ended : State::waiting;
    policy_->left(id, number, now_);
    if (task.state == State::ended)
        policy_->ended(id);
    length_changes(-1);
    load_->left(id, *this);
    choose(number, no_task, false);
}

void Simulation::tick()
{
    for (CpuId number = 0; number < cpus(); number++) {
        Cpu &cpu = cpus_[number];
        if (cpu.running == no_task)
            continue;
        account(number);
        statistics_.ticks++;
        if (policy_->tick(cpu.running, number, now_)) {
            cpu.choose_anew = true;
            set_due(number);
        }
    }
    next_tick_ = now_ + tick_length_;
}

void Simulation::begin(Load &load, Nanoseconds until)
{
    load_ = &load;
    until_ = until;
    load.begin(*this);
}

bool Simulation::advance()
{
    if (load_->over(*this))
        return false;
    CpuId number = 0;
    for (CpuId other = 1; other < cpus(); other++)
        if (cpus_[other].due < cpus_[number].due)
            number = other;
    const Nanoseconds of_cpu = cpus_[number].due;
    const Nanoseconds of_event = events_.empty() ? never : events_.first().moment;
    const Nanoseconds earliest = std::min({of_cpu, of_event, next_tick_});
    if (earliest >= until_) {
        now_ = std::max(now_, until_ == never ? now_ : until_);
        return false;
    }
    now_ = earliest;
    // At one moment: first what tasks did before it, then the tick, then what happens to them.
    if (of_cpu == earliest) {
        account(number);
        if (cpus_[number].choose_anew)
            choose(number, cpus_[number].running, false);
        else
            step_over(number);
    } else if (next_tick_ == earliest) {
        tick();
    } else {
        const Event event = events_.take();
        if (event.task == no_task)
            load_->called(event.token, *this);
        else
            wake(event.task);
    }
    return true;
}

void Simulation::run(Load &load, Nanoseconds until)
{
    begin(load, until);
    while (advance())
        ;
    for (CpuId number = 0; number < cpus(); number++)
        account(number);
    length_changes(0);
    statistics_.time = now_ - began_;
}

void Simulation::forget()
{
    for (CpuId number = 0; number < cpus(); number++)
        account(number);
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
