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
