#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""asyncio_task - asyncio tasks that all yield by `await asyncio.sleep(0)`.

The loop is fair: in each of its rounds every ready task has one turn. One of the tasks is the timekeeper, whose own
turns count the rounds.

Known answer: between two turns of the timekeeper every other task has had exactly one.
Overhead: a turn of a loop and an addition in each task; a round also asks the kernel once for events, which falls to
each task with a share of 1/contexts.
Limits: no task waits for any event. With one task the whole cost of a round is its own.
Source: the event loops' own benchmarks, uvloop's among them; asyncio/tasks.py for sleep(0).
"""

import asyncio
import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Choice, Integer, Metric, Probe, main, skip  # noqa: E402


def new_loop(name):
    """An event loop of this kind; skips the run where it is not installed."""
    if name == "asyncio":
        return asyncio.new_event_loop()
    try:
        import uvloop
    except ImportError as error:
        skip(f"uvloop is not installed for {sys.executable} ({error}): pip install uvloop")
    return uvloop.new_event_loop()


class AsyncioTask(Probe):
    title = "asyncio task"
    family = "turn"
    question = "What does a switch between asyncio tasks cost?"
    operation = "one await asyncio.sleep(0) of one task: out to the event loop and back in when its turn comes"
    source = "asyncio/tasks.py, sleep(0); uvloop's benchmarks"
    statistic = "lower_quartile"
    placements = ("same",)
    uses = ("cpu",)
    metrics = (Metric("turn", "s", "lower", "wall", "operations", "time of one turn of one task"),)
    parameters = (
        Integer("contexts", "tasks that yield", "1", (1, 2, 100, 10_000), 1, 1_000_000, brief=(1, 100)),
        Choice("loop", "event loop: the standard library's, or uvloop", ("asyncio", "uvloop"), ("asyncio", "uvloop")),
    )

    def setup(self):
        self.loop = new_loop(self.given["loop"])
        self.turns = 0
        self.stop = False
        self.others = [self.loop.create_task(self.yield_for_ever()) for _ in range(self.given["contexts"] - 1)]
        self.loop.run_until_complete(self.keep_time(2))  # all have begun

    def versions(self):
        uvloop = sys.modules.get("uvloop")
        return {} if uvloop is None else {"uvloop": uvloop.__version__}

    async def yield_for_ever(self):
        while not self.stop:
            await asyncio.sleep(0)
            self.turns += 1

    async def keep_time(self, rounds, value=None):
        """The timed part, on the loop; returns how many turns it and the others had."""
        await asyncio.sleep(0)  # a turn that is not timed: what came before was not on the loop
        before = self.turns
        if value is not None:
            value.start()
        own = 0
        while own < rounds:
            await asyncio.sleep(0)
            own += 1
        if value is not None:
            value.stop()
        return own + self.turns - before

    def batch(self, operations, value):
        contexts = self.given["contexts"]
        rounds = (operations + contexts - 1) // contexts
        value.operations = rounds * contexts
        value.counts["checked"] = self.loop.run_until_complete(self.keep_time(rounds, value))

    def teardown(self):
        self.stop = True
        if self.others:
            self.loop.run_until_complete(asyncio.gather(*self.others))
        self.loop.close()


main(AsyncioTask)
