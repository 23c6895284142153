// SPDX-License-Identifier: Apache-2.0
#include "schedsim/loads.hpp"

namespace schedsim
{

Nanoseconds Times::draw(Random &random) const
{
    switch (shape) {
    case Shape::constant: break;
    case Shape::uniform: return a + static_cast<Nanoseconds>(random.below(static_cast<std::uint64_t>(b - a) + 1));
    case Shape::exponential: return random.exponential(a);
    case Shape::mixture: return random.exponential(random.chance(share) ? b : a);
    }
    return a;
}

Random stream(std::uint64_t seed, std::uint64_t number)
{
    return Random(Random(seed * 0x9e3779b97f4a7c15 + number).bits());
}

Mix::Mix(const Settings &settings) : settings_(settings)
{
}

void Mix::begin(Simulation &simulation)
{
    for (ClassId of = 0; of < settings_.classes.size(); of++) {
        const Class &kind = settings_.classes[of];
        groups_.push_back(Group{stream(settings_.seed, ~std::uint64_t{of}), {}, {}});
        for (std::uint32_t i = 0; i < kind.count; i++) {
            const TaskId task = simulation.create(kind.nice, of);
            members_.push_back(Member{stream(settings_.seed, task), of, Doing::nothing, 0, 0});
            if (kind.then == Then::request)
                groups_[of].idle.push_back(task);
            else
                simulation.call_at(kind.then == Then::pause ? kind.pause.draw(members_[task].random) : 0, task);
        }
        if (kind.then == Then::request)
            simulation.call_at(kind.pause.draw(groups_[of].random), arrival + of);
    }
}

void Mix::called(std::uint32_t token, Simulation &simulation)
{
    if (token < arrival) {
        members_[token].due = simulation.now();
        simulation.wake(token);
        return;
    }
    const ClassId of = token - arrival;
    Group &group = groups_[of];
    const Request request{simulation.now(), settings_.classes[of].run.draw(group.random)};
    simulation.call_at(simulation.now() + settings_.classes[of].pause.draw(group.random), token);
    group.backlog.push_back(request);
    wake_one(of, simulation);
}

void Mix::wake_one(ClassId of, Simulation &simulation)
{
    Group &group = groups_[of];
    if (group.idle.empty())
        return;
    const TaskId task = group.idle.back();
    group.idle.pop_back();
    simulation.wake(task);
}

Step Mix::next(TaskId task, Simulation &simulation)
{
    Member &member = members_[task];
    const Class &kind = settings_.classes[member.of];
    if (kind.then == Then::request)
        return serve(task, simulation);
    if (kind.then == Then::forever)
        return {never / 2, Step::Then::end, 0};
    const Nanoseconds run = kind.run.draw(member.random);
    if (kind.then == Then::yield)
        return {run, Step::Then::yield, 0};
    member.pause = kind.pause.draw(member.random);
    return {run, Step::Then::sleep, member.pause};
}

// A server runs with a request in hand; when it is done with it, it takes the next one or waits.
Step Mix::serve(TaskId task, Simulation &simulation)
{
    Member &member = members_[task];
    Group &group = groups_[member.of];
    if (member.doing == Doing::a_request)
        simulation.note_response(task, simulation.now() - member.due);
    member.doing = Doing::nothing;
    if (group.backlog.empty())
        return {0, Step::Then::wait, 0};
    const Request request = group.backlog.front();
    group.backlog.pop_front();
    member.doing = Doing::a_request;
    member.due = request.arrived;
    return {request.run, Step::Then::more, 0};
}

void Mix::left(TaskId task, Simulation &simulation)
{
    Member &member = members_[task];
    const Class &kind = settings_.classes[member.of];
    if (kind.then == Then::pause) {
        simulation.note_response(task, simulation.now() - member.due);
        member.due = simulation.now() + member.pause;
    } else if (kind.then == Then::request) {
        groups_[member.of].idle.push_back(task);
        if (!groups_[member.of].backlog.empty()) // it came after the server had looked, and before it slept
            wake_one(member.of, simulation);
    }
}

bool Mix::over(const Simulation &) const
{
    return false;
}

} // namespace schedsim
