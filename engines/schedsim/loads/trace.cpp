// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <istream>
#include <stdexcept>

#include "schedsim/json.hpp"
#include "schedsim/loads.hpp"

namespace schedsim
{
namespace
{

constexpr std::int64_t most_tasks = 1 << 16;

Trace::Recording read_header(const json::Value &line)
{
    if (!line.is_object() || !line.contains("schedsim_trace"))
        throw std::invalid_argument("the first line is no object with \"schedsim_trace\"");
    json::whole_from(json::find(line, "schedsim_trace"), 1, 1, "schedsim_trace");
    Trace::Recording recording;
    recording.cpus = static_cast<CpuId>(json::whole_from(json::find(line, "cpus"), 1, 1024, "cpus"));
    recording.tasks = static_cast<std::uint32_t>(json::whole_from(json::find(line, "tasks"), 0, most_tasks, "tasks"));
    return recording;
}

Trace::Interval read_interval(const json::Value &line)
{
    if (!line.is_array() || line.size() != 4)
        throw std::invalid_argument("an interval is [length_ns, runnable, switches, forks]");
    return {json::whole_from(&line[0], 1, hour, "the length"),
            static_cast<std::uint32_t>(json::whole_from(&line[1], 0, most_tasks, "the number of runnable tasks")),
            static_cast<std::uint32_t>(json::whole_from(&line[2], 0, 1'000'000'000, "the number of switches"))};
}

} // namespace

Nanoseconds Trace::Recording::length() const
{
    Nanoseconds sum = 0;
    for (const Interval &one : intervals)
        sum += one.length;
    return sum;
}

std::uint64_t Trace::Recording::switches() const
{
    std::uint64_t sum = 0;
    for (const Interval &one : intervals)
        sum += one.switches;
    return sum;
}

std::int64_t version_of_recording(std::istream &input, const std::string &name)
{
    std::string text;
    std::getline(input, text);
    input.clear();
    input.seekg(0);
    try {
        const json::Value line = json::parse(text);
        if (line.is_object() && line.contains("schedsim_trace"))
            return json::whole_from(json::find(line, "schedsim_trace"), 1, 2, "schedsim_trace");
    } catch (const std::invalid_argument &error) {
        throw std::invalid_argument(name + ":1: " + error.what());
    }
    throw std::invalid_argument(name + ":1: the first line is no object with \"schedsim_trace\"");
}

Trace::Recording Trace::read(std::istream &input, const std::string &name)
{
    Recording recording;
    std::string text;
    for (std::size_t number = 1; std::getline(input, text); number++) {
        try {
            const json::Value line = json::parse(text);
            if (number == 1)
                recording = read_header(line);
            else
                recording.intervals.push_back(read_interval(line));
        } catch (const std::invalid_argument &error) {
            throw std::invalid_argument(name + ":" + std::to_string(number) + ": " + error.what());
        }
    }
    if (recording.intervals.empty())
        throw std::invalid_argument(name + ": holds no interval");
    return recording;
}

Trace::Trace(const Recording &recording) : recording_(recording)
{
}

void Trace::begin(Simulation &simulation)
{
    std::uint32_t most = 1;
    for (const Interval &one : recording_.intervals)
        most = std::max(most, one.runnable);
    // One more than ever ran at once, so that there is always another to be woken.
    const std::uint32_t tasks = std::max(recording_.tasks, most + 1);
    for (std::uint32_t i = 0; i < tasks; i++)
        waiting_.push_back(simulation.create());
    began_.resize(tasks);
    begin_interval(simulation);
}

void Trace::begin_interval(Simulation &simulation)
{
    if (next_interval_ == recording_.intervals.size()) {
        done_ = true;
        return;
    }
    const Interval &now = recording_.intervals[next_interval_++];
    wanted_ = now.runnable;
    const Nanoseconds switches = std::max<Nanoseconds>(1, now.switches);
    if (wanted_ > 0) {
        exchanges_ += now.switches;
        run_ = now.length * std::min<Nanoseconds>(wanted_, recording_.cpus) / switches;
    } else {
        // Nobody was seen, and yet they ran: each alone, from idle and back, for a part of the time.
        exchanges_ = 0;
        run_ = now.length / (4 * switches);
        for (std::uint32_t i = 0; i < now.switches / 2; i++)
            simulation.call_at(simulation.now() + now.length * (2 * i + 1) / switches, alone);
    }
    run_ = std::max<Nanoseconds>(1, run_);
    while (awake_ < wanted_)
        wake_one(simulation);
    simulation.call_at(simulation.now() + now.length, interval);
}

void Trace::wake_one(Simulation &simulation)
{
    const TaskId task = waiting_.front();
    waiting_.pop_front();
    awake_++;
    began_[task] = 0;
    simulation.wake(task);
}

Step Trace::next(TaskId task, Simulation &)
{
    if (began_[task]) {
        const bool too_many = awake_ > wanted_;
        if (too_many || exchanges_ > 0) {
            exchanges_ -= !too_many;
            return {0, Step::Then::wait, 0};
        }
    }
    began_[task] = 1;
    return {run_, Step::Then::more, 0};
}

void Trace::left(TaskId task, Simulation &simulation)
{
    waiting_.push_back(task);
    awake_--;
    while (awake_ < wanted_)
        wake_one(simulation);
}

void Trace::called(std::uint32_t token, Simulation &simulation)
{
    if (token == interval)
        begin_interval(simulation);
    else if (!waiting_.empty() && awake_ == 0)
        wake_one(simulation);
}

bool Trace::over(const Simulation &) const
{
    return done_;
}

} // namespace schedsim
