// SPDX-License-Identifier: Apache-2.0
// The simulation's loop, for each class of policies anew: the compiler then knows whom it calls, and most calls vanish.
#pragma once

#include <algorithm>

#include "schedsim/simulation.hpp"

namespace schedsim
{

template <typename P> P &Simulation::policy()
{
    return static_cast<P &>(*policy_);
}

// An idle CPU if there is one, the task's own first; else where it ran last.
inline CpuId Simulation::place(TaskId task) const
{
    const CpuId own = tasks_[task].cpu;
    if (busy_cpus_ == cpus() || cpus_[own].running == no_task)
        return own;
    for (CpuId cpu = 0; cpu < cpus(); cpu++)
        if (cpus_[cpu].running == no_task)
            return cpu;
    return own;
}

inline void Simulation::length_changes(std::int32_t by)
{
    statistics_.time_at_length[std::min<std::size_t>(runnable_, longest_counted)] += now_ - length_since_;
    length_since_ = now_;
    runnable_ += static_cast<std::uint32_t>(by);
}

inline void Simulation::set_due(CpuId number)
{
    Cpu &cpu = cpus_[number];
    if (cpu.running == no_task)
        cpu.due = never;
    else
        cpu.due = cpu.choose_anew ? std::max(now_, cpu.from) : cpu.from + tasks_[cpu.running].left;
}

// Books the time that the running task has used until now, and says how much that is.
inline Nanoseconds Simulation::book(Cpu &cpu)
{
    Task &task = tasks_[cpu.running];
    const Nanoseconds time = now_ - cpu.from;
    task.left -= time;
    task.used += time;
    statistics_.busy += time;
    statistics_.classes[task.of].busy += time;
    cpu.from = now_;
    return time;
}

inline void Simulation::take_step(TaskId id)
{
    tasks_[id].in_step = true;
    const Step step = load_->next(id, *this); // which may create tasks: no reference outlives it
    tasks_[id].step = step;
    tasks_[id].left = step.run;
}

// Books what the running task has used until now, and tells the policy. While the scheduler's own time lasts it is none.
template <typename P> void Simulation::account(CpuId number)
{
    Cpu &cpu = cpus_[number];
    if (cpu.running == no_task || now_ <= cpu.from)
        return;
    const Nanoseconds time = book(cpu);
    policy<P>().ran(cpu.running, number, time);
}

template <typename P> void Simulation::wake_by(TaskId id)
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
    account<P>(cpu); // a policy that compares used time must know it as it is now
    Work work;
    policy<P>().ready(id, cpu, slept, now_, work);
    statistics_.searched += work.searched;
    cpus_[cpu].owed += costs_.search * work.searched;
    length_changes(+1);
    if (cpus_[cpu].running == no_task) {
        choose<P>(cpu, no_task, false);
    } else if (policy<P>().preempts(id, cpus_[cpu].running, cpu)) {
        cpus_[cpu].choose_anew = true;
        set_due(cpu);
    }
}

// Has the policy choose, charges what that costs, and lets the chosen one run.
template <typename P> void Simulation::choose(CpuId number, TaskId previous, bool yielded)
{
    Cpu &cpu = cpus_[number];
    const TaskId before = cpu.running;
    Work work;
    const TaskId next = policy<P>().choose(number, previous, now_, work);
    const bool changed = next != before;
    const std::size_t length = std::min<std::size_t>(runnable_, longest_counted);
    statistics_.calls++;
    statistics_.searched += work.searched;
    statistics_.recalculations += work.recalculated != 0;
    statistics_.recalculated += work.recalculated;
    if (changed) {
        statistics_.switches++;
        statistics_.switches_at_length[length]++;
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
    Choices &alike = statistics_.choices[std::bit_width(length) - 1];
    alike.count++;
    alike.spent += spent;
    if (changed) {
        Task &task = tasks_[next];
        const Nanoseconds waited = now_ - task.since;
        statistics_.longest_wait = std::max(statistics_.longest_wait, waited);
        task.waited += waited;
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

// The step of the running task is over: it yields, sleeps, waits or ends.
template <typename P> void Simulation::step_over(CpuId number)
{
    Cpu &cpu = cpus_[number];
    const TaskId id = cpu.running;
    Task &task = tasks_[id];
    task.in_step = false;
    switch (task.step.then) {
    case Step::Then::yield:
        statistics_.yields++;
        policy<P>().yielded(id, number, now_);
        choose<P>(number, id, true);
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
    policy<P>().left(id, number, now_);
    if (task.state == State::ended)
        policy<P>().ended(id);
    length_changes(-1);
    load_->left(id, *this);
    choose<P>(number, no_task, false);
}

// On all CPUs; `of_event`: when the next event is that is no tick and no end of a step.
template <typename P> void Simulation::tick(Nanoseconds of_event)
{
    for (CpuId number = 0; number < cpus(); number++) {
        Cpu &cpu = cpus_[number];
        if (cpu.running == no_task)
            continue;
        account<P>(number);
        statistics_.ticks++;
        if (policy<P>().tick(cpu.running, number, now_)) {
            cpu.choose_anew = true;
            set_due(number);
        }
    }
    next_tick_ = now_ + tick_length_;
    if (cpus() == 1)
        further_ticks<P>(std::min(of_event, until_ - 1));
}

// The ticks that come before anything else does, up to the moment `last`, on the only CPU: booked together.
template <typename P> void Simulation::further_ticks(Nanoseconds last)
{
    Cpu &cpu = cpus_.front();
    if (cpu.choose_anew || cpu.from != now_)
        return;
    last = std::min(last, cpu.due - 1);
    bool anew = false;
    while (next_tick_ <= last && !anew) {
        now_ = next_tick_;
        next_tick_ += tick_length_;
        statistics_.ticks++;
        policy<P>().ran(cpu.running, 0, tick_length_);
        anew = policy<P>().tick(cpu.running, 0, now_);
    }
    book(cpu);
    cpu.choose_anew = anew;
    set_due(0);
}

// The next event, or some ticks; false when it is over. `one`: there is one CPU alone.
template <typename P, bool one> bool Simulation::go_on()
{
    if (load_->over(*this))
        return false;
    CpuId number = 0;
    for (CpuId other = 1; !one && other < cpus(); other++)
        if (cpus_[other].due < cpus_[number].due)
            number = other;
    const Nanoseconds of_cpu = cpus_[number].due;
    const Nanoseconds of_event = events_.first().moment;
    const Nanoseconds earliest = std::min({of_cpu, of_event, next_tick_});
    if (earliest >= until_) {
        now_ = std::max(now_, until_ == never ? now_ : until_);
        return false;
    }
    now_ = earliest;
    // At one moment: first what tasks did before it, then the tick, then what happens to them.
    if (of_cpu == earliest) {
        do {
            account<P>(number);
            if (cpus_[number].choose_anew)
                choose<P>(number, cpus_[number].running, false);
            else
                step_over<P>(number);
        } while (one && cpus_[number].due == now_ && !load_->over(*this));
    } else if (next_tick_ == earliest) {
        tick<P>(of_event);
    } else {
        const Event event = events_.take();
        if (event.task == no_task)
            load_->called(event.token, *this);
        else
            wake_by<P>(event.task);
    }
    return true;
}

template <typename P> constexpr Driven driven_by()
{
    return {
        [](Simulation &simulation, TaskId task) { simulation.wake_by<P>(task); },
        [](Simulation &simulation) { return simulation.go_on<P, false>(); },
        [](Simulation &simulation) __attribute__((flatten)) {
            if (simulation.cpus() == 1)
                while (simulation.go_on<P, true>())
                    ;
            else
                while (simulation.go_on<P, false>())
                    ;
        },
    };
}

} // namespace schedsim
