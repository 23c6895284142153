// SPDX-License-Identifier: Apache-2.0
// conformance - what tests/protocol/test_conformance.py holds every support to; in each language the same.
//
// Known answer: the sum of the numbers below `operations`.  `trouble` plants what a support has to find.
#include "probe.hpp"

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>

static void batch(probe_run *run, std::uint64_t operations, probe_value *value)
{
    static std::uint64_t batches;
    const char *elsewhere = std::getenv("CONFORMANCE_TROUBLE"); // for the selftest, which takes no parameters
    const std::string_view trouble = elsewhere ? elsewhere : probe_choice(run, "trouble");
    probe_guarded([&] {
        std::uint64_t done = operations;
        if (trouble == "more")
            done = 2 * operations;
        if (trouble == "fewer")
            done = operations - 1;
        if (trouble == "idle")
            done = 0;
        if (trouble == "slow")
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (trouble == "breaks")
            throw std::runtime_error("it went wrong");
        if (trouble == "fails")
            probe_fail("it went wrong");
        if (trouble == "skips")
            probe_skip("there is no such thing");
        if (trouble == "caveat")
            probe_caveat("a \"doubt\" of %d", 1);
        std::uint64_t sum = 0;
        if (trouble != "unstarted")
            probe_start(value);
        for (std::uint64_t i = 0; i < done; i++) {
            sum += i;
            asm volatile("" : "+r"(sum));
        }
        if (trouble != "unstarted")
            probe_stop(value);
        value->operations = done;
        value->lanes = 2;
        const std::uint64_t checked = sum == (done ? done * (done - 1) / 2 : 0) ? done : 0;
        if (trouble != "unproven")
            probe_count(value, "checked", trouble == "wrong" ? checked - 1 : checked);
        probe_count(value, "batches", ++batches);
        probe_reading(value, "half", static_cast<double>(probe_integer(run, "number")) / 2);
    });
}

static constexpr probe_metric metrics[] = {
    {"one", "s", "lower", "wall", "operations", "time of one addition"},
    {"half", "1", "neither", "half", "one", "half of what was given as \"number\""}, {}};
static constexpr probe_param parameters[] = {
    {.name = "number", .doc = "a number", .unit = "B", .sweep = "3,4", .brief = "4", .curves = "half", .min = -2, .max = 9},
    {.name = "trouble", .doc = "what goes wrong",
     .choices = "none,more,caveat,wrong,unproven,unstarted,idle,fewer,slow,breaks,fails,skips", .sweep = "none",
     .brief = "none"}, {}};
static constexpr probe conformance = {
    .title = "conformance",
    .question = "Does the support of this language keep the protocol?",
    .operation = "one addition",
    .source = "docs/reference/protocol.md",
    .statistic = "median",
    .placements = "same,cross,free",
    .uses = "cpu",
    .value_ms = 5,
    .baseline = "null/null",
    .family = "supports",
    .metrics = metrics,
    .params = parameters,
    .batch = batch};

int main(int argc, char **argv)
{
    return probe_main(&conformance, argc, argv);
}
