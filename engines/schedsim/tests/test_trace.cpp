// SPDX-License-Identifier: Apache-2.0
// A recorded run queue, and the JSON in which it and the requests are written.
#include <sstream>
#include <stdexcept>

#include "check.hpp"
#include "schedsim/json.hpp"
#include "schedsim/loads.hpp"

using namespace schedsim;
using test::check;
using test::near;

namespace
{

const std::string head = "{\"schedsim_trace\":1,\"cpus\":1,\"tasks\":30}\n";

Trace::Recording steady(std::uint32_t runnable, std::uint32_t switches, int intervals)
{
    Trace::Recording recording;
    recording.tasks = 30;
    for (int i = 0; i < intervals; i++)
        recording.intervals.push_back({10 * millisecond, runnable, switches});
    return recording;
}

std::string complaint(const std::string &text)
{
    std::istringstream input(text);
    try {
        Trace::read(input, "file");
    } catch (const std::invalid_argument &error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST(a_replayed_queue_is_as_long_as_the_recorded_one_and_switches_as_often)
{
    for (const PolicyKind *policy : policies())
        for (const std::uint32_t runnable : {1u, 3u, 12u}) {
            const Trace::Recording recording = steady(runnable, 8, 2000);
            Trace load(recording);
            Simulation simulation(*policy, {1, 0}, {});
            simulation.run(load, never);
            const Statistics &seen = simulation.statistics();
            const std::string what = std::string(policy->name) + " with " + std::to_string(runnable);
            check(seen.time == recording.length(), what + ": as long");
            check(seen.time_at_length[runnable] == seen.time, what + ": always as many runnable");
            // A policy may switch more often, where it takes the CPU away; never less.
            check(seen.switches >= recording.switches() - 8, what + ": " + std::to_string(seen.switches));
            if (runnable == 1)
                near(static_cast<double>(seen.switches), static_cast<double>(recording.switches()), 0.01, what);
        }
}

TEST(what_ran_unseen_between_two_samples_is_replayed_from_idle)
{
    const Trace::Recording recording = steady(0, 10, 1000);
    Trace load(recording);
    Simulation simulation(*find_policy("linux_2_0_30"), {1, 0}, {});
    simulation.run(load, never);
    near(static_cast<double>(simulation.statistics().switches), static_cast<double>(recording.switches()), 0.01,
         "switches");
    check(simulation.statistics().busy < recording.length() / 2, "mostly idle");
}

TEST(a_recording_is_read_back)
{
    std::istringstream input(head + "[10000000,2,17,0]\n[10500000,0,3,1]\n");
    const Trace::Recording recording = Trace::read(input, "file");
    check(recording.cpus == 1 && recording.tasks == 30 && recording.intervals.size() == 2, "all of it");
    check(recording.length() == 20'500'000 && recording.switches() == 20, "sums");
}

TEST(what_is_wrong_with_a_recording_is_said_with_its_line)
{
    check(complaint(head + "[10000000,2,17,0]\n[0,0,0,0]\n").starts_with("file:3: the length"), "no length");
    check(complaint(head + "[10000000,2,17]\n").starts_with("file:2: an interval"), "three numbers");
    check(complaint(head + "[10000000,2.5,17,0]\n").starts_with("file:2: the number of runnable"), "half a task");
    check(complaint(head + "nonsense\n").starts_with("file:2: no JSON"), "no JSON");
    check(complaint("{\"cpus\":1}\n").starts_with("file:1: the first line"), "no recording");
    check(complaint("{\"schedsim_trace\":2,\"cpus\":1,\"tasks\":3}\n").starts_with("file:1: schedsim_trace"),
          "another version");
    check(complaint(head) == "file: holds no interval", "empty");
    check(complaint("") == "file: holds no interval", "nothing");
}

namespace
{

// Two tasks of one class that wake each other, a third that a timer wakes, and one that the first gives birth to.
const std::string lives =
    R"({"schedsim_trace":2,"cpus":1,"tasks":4,"length_ns":1000000,"tick_ns":0,"switches":9,"classes":["pair","timer"]})"
    "\n"
    R"({"of":0,"nice":0,"beginning":"awake",)"
    R"("acts":[["run",1000],["wake",1],["wait",0],["run",2000],["wake",3],["end",0]]})"
    "\n"
    R"({"of":0,"nice":0,"beginning":"asleep","acts":[["wait",0],["run",500],["wake",0],["wait",0]]})"
    "\n"
    R"({"of":1,"nice":0,"beginning":"asleep",)"
    R"("acts":[["sleep",100000],["run",300],["sleep",100000],["run",300],["end",0]]})"
    "\n"
    R"({"of":0,"nice":5,"beginning":"unborn","acts":[["run",700],["end",0]]})"
    "\n";

std::string complaint_of_lives(const std::string &text)
{
    std::istringstream input(text);
    try {
        Recorded::read(input, "file");
    } catch (const std::invalid_argument &error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST(recorded_lives_are_lived_again_in_their_order)
{
    std::istringstream input(lives);
    check(version_of_recording(input, "file") == 2, "the version");
    const Recorded::Recording recording = Recorded::read(input, "file");
    for (const PolicyKind *policy : policies()) {
        Recorded load(recording);
        Simulation simulation(*policy, {1, 0}, {});
        simulation.run(load, recording.length);
        const Statistics &seen = simulation.statistics();
        const std::string name = policy->name;
        // 1000 + 500 + 2000 + 700 of the pair and the child, 2 x 300 of the timer's: all of it ran, and nothing twice.
        check(seen.busy == 4800 && seen.classes[0].busy == 4200 && seen.classes[1].busy == 600, name + ": the work");
        check(simulation.tasks() == 4, name + ": the child is born");
        // The second one was woken after 1000 ns, and the first again after 1500.
        check(simulation.used(0) == 3000 && seen.classes[0].wake_up.count() == 4, name + ": who woke whom");
        check(seen.time_at_length[0] > 900'000, name + ": idle while the timer runs");
    }
}

TEST(a_wake_up_that_comes_before_the_sleep_is_not_lost)
{
    // The first wakes the second twice at once; the second has to wait twice, and does not sleep for ever.
    std::istringstream input(
        R"({"schedsim_trace":2,"cpus":1,"tasks":2,"length_ns":1000000,"tick_ns":0,"switches":0,"classes":["a"]})"
        "\n"
        R"({"of":0,"nice":0,"beginning":"awake","acts":[["run",10],["wake",1],["wake",1],["run",10],["end",0]]})"
        "\n"
        R"({"of":0,"nice":0,"beginning":"asleep","acts":[["wait",0],["run",5],["wait",0],["run",6],["end",0]]})"
        "\n");
    const Recorded::Recording recording = Recorded::read(input, "file");
    Recorded load(recording);
    Simulation simulation(*find_policy("eevdf"), {1, 0}, {});
    simulation.run(load, recording.length);
    check(simulation.used(1) == 11, "both runs: " + std::to_string(simulation.used(1)));
}

TEST(what_is_wrong_with_recorded_lives_is_said_with_its_line)
{
    const auto changed = [](const std::string &from, const std::string &to) {
        std::string text = lives;
        return complaint_of_lives(text.replace(text.find(from), from.size(), to));
    };
    check(complaint_of_lives(lives).empty(), "nothing is wrong");
    check(changed("[\"wake\",1]", "[\"wake\",4]").starts_with("file:2: the number of \"wake\""), "whom it wakes");
    check(changed("[\"run\",500]", "[\"ran\",500]").starts_with("file:3: an act is"), "an act that is none");
    check(changed("\"of\":1", "\"of\":2").starts_with("file:4: of must be"), "a class that is not there");
    check(changed("\"unborn\"", "\"dead\"").starts_with("file:5: beginning must be"), "a beginning that is none");
    check(changed("\"tasks\":4", "\"tasks\":5") == "file: says that it holds 5 tasks, and holds 4", "one is missing");
    std::istringstream nothing("{}\n");
    try {
        version_of_recording(nothing, "file");
        check(false, "no recording was taken for one");
    } catch (const std::invalid_argument &error) {
        check(std::string(error.what()).starts_with("file:1: the first line is no object"), error.what());
    }
}

TEST(json_is_read_as_its_standard_says)
{
    for (const char *text : {"", "{", "[1,]", "{\"a\":1,}", "01", "1.", ".5", "+1", "nan", "\"a", "\"\\x\"",
                             "\"\\ud800\"", "tru", "[1] 2", "{\"a\":1,\"a\":2}", "\"\n\"", "1e999", "-"}) {
        bool refused = false;
        try {
            json::parse(text);
        } catch (const std::invalid_argument &) {
            refused = true;
        }
        check(refused, std::string("took ") + text);
    }
    for (const char *text :
         {"null", "true", "-7", "0.5", "1e-07", "\"a\\\"\\\\ä\"", "[]", "{}", "[1,[2,{\"a\":null}]]"})
        check(json::parse(text).dump() == text, std::string("changed ") + text);
    check(json::parse("\"\\u00e4\\ud83d\\ude00\\n\"") == "ä😀\n", "escapes");
    const json::Value number = json::parse(" 9223372036854775807 "), beyond = json::parse("9223372036854775808");
    check(json::whole(&number) == never, "the largest number stays whole");
    check(!json::whole(&beyond), "a number beyond it is none");
    const std::string deep = std::string(100, '[') + std::string(100, ']');
    bool refused = false;
    try {
        json::parse(deep);
    } catch (const std::invalid_argument &) {
        refused = true;
    }
    check(refused, "too deep");
}

MAIN
