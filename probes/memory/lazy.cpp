/* SPDX-License-Identifier: Apache-2.0
 * lazy - what a suspended stackless coroutine of engines/coro takes of memory: its frame, and that of what it was begun by.
 *
 * Known answer: each counts how often it was resumed.
 * Overhead: none.  Limits: one coroutine deep: a chain of calls that waits has a frame a level.
 * Assembly: resume_all contains (call|blr).*(\*|x[0-9])
 * Source: proc_pid_smaps(5): Rss; compare memory/fiber. */
#include "suspended.hpp"

#include <coro/spawn.hpp>

static coro::lazy<> wait_for_ever(suspended &all, std::size_t i)
{
    for (;;) {
        all.arrivals++;
        co_await all.wait(i);
    }
}

static void begin(suspended &all, std::size_t i)
{
    coro::spawn(all.loop, wait_for_ever(all, i));
}

static void setup(probe_run *run)
{
    suspended_setup(run, begin);
}

static constexpr probe lazy_probe = {
    .title = "C++ coroutine, stackless",
    .question = "What does a suspended stackless coroutine take of memory?",
    .operation = "one coroutine among many, resumed and suspended again; memory is read while all are suspended",
    .source = "proc_pid_smaps(5): Rss",
    .statistic = "median",
    .placements = "same",
    .uses = "cpu",
    .metrics = suspended_metrics,
    .params = suspended_parameters,
    .setup = setup,
    .batch = suspended_batch,
};

int main(int argc, char **argv)
{
    return probe_main(&lazy_probe, argc, argv);
}
