// SPDX-License-Identifier: Apache-2.0
#include <istream>
#include <stdexcept>

#include "schedsim/json.hpp"
#include "schedsim/loads.hpp"

namespace schedsim
{
namespace
{

Recorded::Act read_act(const json::Value &line, std::size_t tasks)
{
    using Kind = Recorded::Act::Kind;
    static constexpr std::pair<const char *, Kind> kinds[] = {
        {"run", Kind::run},   {"sleep", Kind::sleep}, {"wait", Kind::wait},
        {"wake", Kind::wake}, {"yield", Kind::yield}, {"end", Kind::end},
    };
    if (line.is_array() && line.size() == 2 && line[0].is_string())
        for (const auto &[name, kind] : kinds)
            if (line[0] == name) {
                const std::int64_t most = kind == Kind::wake ? static_cast<std::int64_t>(tasks) - 1 : 1000 * hour;
                return {kind, json::whole_from(&line[1], 0, most, std::string("the number of \"") + name + "\"")};
            }
    throw std::invalid_argument("an act is [\"run\", \"sleep\", \"wait\", \"wake\", \"yield\" or \"end\", a number]");
}

Recorded::Life read_life(const json::Value &line, std::size_t tasks, std::size_t classes)
{
    using Beginning = Recorded::Life::Beginning;
    if (!line.is_object())
        throw std::invalid_argument("a task is an object with \"of\", \"nice\", \"beginning\" and \"acts\"");
    Recorded::Life life;
    life.of = static_cast<ClassId>(
        json::whole_from(json::find(line, "of"), 0, static_cast<std::int64_t>(classes) - 1, "of"));
    life.nice = static_cast<int>(json::whole_from(json::find(line, "nice"), -20, 19, "nice"));
    const json::Value *beginning = json::find(line, "beginning"), *acts = json::find(line, "acts");
    if (beginning == nullptr || (*beginning != "awake" && *beginning != "asleep" && *beginning != "unborn"))
        throw std::invalid_argument("beginning must be \"awake\", \"asleep\" or \"unborn\"");
    life.beginning = *beginning == "awake"    ? Beginning::awake
                     : *beginning == "asleep" ? Beginning::asleep
                                              : Beginning::unborn;
    if (acts == nullptr || !acts->is_array())
        throw std::invalid_argument("acts must be a list");
    for (const json::Value &act : *acts)
        life.acts.push_back(read_act(act, tasks));
    return life;
}

} // namespace

Recorded::Recording Recorded::read(std::istream &input, const std::string &name)
{
    Recording recording;
    std::string text;
    std::size_t tasks = 0;
    for (std::size_t number = 1; std::getline(input, text); number++) {
        try {
            const json::Value line = json::parse(text);
            if (number > 1) {
                recording.tasks.push_back(read_life(line, tasks, recording.classes.size()));
                continue;
            }
            json::whole_from(json::find(line, "schedsim_trace"), 2, 2, "schedsim_trace");
            recording.cpus = static_cast<CpuId>(json::whole_from(json::find(line, "cpus"), 1, 64, "cpus"));
            tasks = static_cast<std::size_t>(json::whole_from(json::find(line, "tasks"), 1, 1 << 20, "tasks"));
            recording.length = json::whole_from(json::find(line, "length_ns"), 1, 1000 * hour, "length_ns");
            recording.switches =
                static_cast<std::uint64_t>(json::whole_from(json::find(line, "switches"), 0, never, "switches"));
            recording.tick = json::whole_from(json::find(line, "tick_ns"), 0, second, "tick_ns");
            const json::Value *classes = json::find(line, "classes");
            if (classes == nullptr || !classes->is_array() || classes->empty())
                throw std::invalid_argument("classes must be a list of names");
            for (const json::Value &one : *classes)
                recording.classes.push_back(one.is_string() ? one.get<std::string>() : "");
        } catch (const std::invalid_argument &error) {
            throw std::invalid_argument(name + ":" + std::to_string(number) + ": " + error.what());
        }
    }
    if (recording.tasks.size() != tasks || tasks == 0)
        throw std::invalid_argument(name + ": says that it holds " + std::to_string(tasks) + " tasks, and holds " +
                                    std::to_string(recording.tasks.size()));
    return recording;
}

Recorded::Recorded(const Recording &recording)
    : recording_(recording), at_(recording.tasks.size()), id_(recording.tasks.size(), no_task),
      pending_(recording.tasks.size()), waits_(recording.tasks.size())
{
}

void Recorded::begin(Simulation &simulation)
{
    for (std::uint32_t number = 0; number < recording_.tasks.size(); number++) {
        const Life &life = recording_.tasks[number];
        if (life.beginning == Life::Beginning::unborn)
            continue;
        create(number, simulation);
        if (life.beginning == Life::Beginning::awake) {
            simulation.wake(id_[number]);
            continue;
        }
        const Act first = life.acts.empty() ? Act{} : life.acts[at_[number]++]; // what it does as the recording begins
        if (first.kind == Act::Kind::sleep)
            simulation.call_at(first.number, number);
        else
            waits_[number] = 1;
    }
}

void Recorded::create(std::uint32_t number, Simulation &simulation)
{
    const Life &life = recording_.tasks[number];
    id_[number] = simulation.create(life.nice, life.of);
    number_.push_back(number);
    due_.push_back(simulation.now());
}

void Recorded::called(std::uint32_t number, Simulation &simulation)
{
    due_[id_[number]] = simulation.now();
    simulation.wake(id_[number]);
}

// Another task, or the beginning of its life, wakes this one: now, or as soon as it waits.
void Recorded::notify(std::uint32_t number, Simulation &simulation)
{
    if (id_[number] == no_task) {
        create(number, simulation);
        simulation.wake(id_[number]);
    } else if (waits_[number]) {
        waits_[number] = 0;
        called(number, simulation);
    } else {
        pending_[number]++;
    }
}

Step Recorded::next(TaskId task, Simulation &simulation)
{
    const std::uint32_t number = number_[task];
    const std::vector<Act> &acts = recording_.tasks[number].acts;
    while (at_[number] < acts.size()) {
        const Act act = acts[at_[number]++];
        switch (act.kind) {
        case Act::Kind::run: return {act.number, Step::Then::more, 0};
        case Act::Kind::yield: return {0, Step::Then::yield, 0};
        case Act::Kind::sleep: return {0, Step::Then::sleep, act.number};
        case Act::Kind::end: return {0, Step::Then::end, 0};
        case Act::Kind::wake: notify(static_cast<std::uint32_t>(act.number), simulation); break;
        case Act::Kind::wait:
            if (pending_[number] == 0) {
                waits_[number] = 1;
                return {0, Step::Then::wait, 0};
            }
            pending_[number]--;
        }
    }
    return {0, Step::Then::wait, 0}; // the recording ends before the task does
}

void Recorded::left(TaskId task, Simulation &simulation)
{
    const std::uint32_t number = number_[task];
    const std::vector<Act> &acts = recording_.tasks[number].acts;
    simulation.note_response(task, simulation.now() - due_[task]);
    if (at_[number] > 0 && acts[at_[number] - 1].kind == Act::Kind::sleep)
        due_[task] = simulation.now() + acts[at_[number] - 1].number;
}

bool Recorded::over(const Simulation &) const
{
    return false;
}

} // namespace schedsim
