/* SPDX-License-Identifier: Apache-2.0
 * fiber - what a suspended fiber of engines/coro takes of memory: a page of its stack, and its part of the page tables.
 *
 * Known answer: each counts how often it was resumed.
 * Overhead: none: its control block lies on its stack.  Limits: stacks of 64 KiB that are used a few calls deep; a fiber
 * that has been deeper keeps what it has touched.
 * Assembly: resume_all contains (call|blr).*(\*|x[0-9])
 * Source: proc_pid_smaps(5): Rss; compare memory/swapcontext. */
#include "suspended.hpp"

#include <coro/fiber.hpp>

static void begin(suspended &all, std::size_t i)
{
    coro::fiber::spawn(all.loop, [&all, i] {
        for (;;) {
            all.arrivals++;
            coro::fiber::await(all.wait(i));
        }
    }).detach();
}

static void setup(probe_run *run)
{
    suspended_setup(run, begin);
}

static constexpr probe fiber_probe = {
    .title = "C++ coroutine, with a stack",
    .question = "What does a suspended fiber take of memory?",
    .operation = "one fiber among many, resumed and suspended again; memory is read while all are suspended",
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
    return probe_main(&fiber_probe, argc, argv);
}
