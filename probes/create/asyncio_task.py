#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""asyncio_task - an asyncio task is created, runs and is awaited, one at a time.

Known answer: each task returns the complement of its number.
Overhead: the coroutine object that a task runs, which is created as well; a turn of the event loop and its question to
the kernel for events, twice a task.
Limits: one task at a time, so that no round of the loop is shared; switch/asyncio_task has the turns alone.
Source: asyncio's and uvloop's own benchmarks.
"""

import asyncio
import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Choice, Metric, Probe, main, skip  # noqa: E402


def new_loop(name):
    """An event loop of this kind; skips the run where it is not installed."""
    if name == "asyncio":
        return asyncio.new_event_loop()
    try:
        import uvloop
    except ImportError as error:
        skip(f"uvloop is not installed for {sys.executable} ({error}): pip install uvloop")
    return uvloop.new_event_loop()


async def answer(question):
    """What a task does."""
    return ~question


async def create_and_await(loop, times, value):
    """The timed part, on the loop; returns how many answers were right."""
    right, create = 0, loop.create_task
    value.start()
    for i in range(times):
        right += await create(answer(i)) == ~i
    value.stop()
    return right


class AsyncioTask(Probe):
    title = "asyncio task"
    question = "What does an asyncio task cost?"
    operation = "one coroutine, the task that runs it, its run and its end, awaited"
    source = "asyncio/tasks.py; uvloop's benchmarks"
    statistic = "lower_quartile"
    placements = ("same",)
    uses = ("cpu",)
    metrics = (Metric("task", "s", "lower", "wall", "operations", "time from the creation to the awaited end"),)
    parameters = (
        Choice("loop", "event loop: the standard library's, or uvloop", ("asyncio", "uvloop"), ("asyncio", "uvloop")),
    )

    def setup(self):
        self.loop = new_loop(self.given["loop"])

    def versions(self):
        uvloop = sys.modules.get("uvloop")
        return {} if uvloop is None else {"uvloop": uvloop.__version__}

    def batch(self, operations, value):
        value.counts["checked"] = self.loop.run_until_complete(create_and_await(self.loop, operations, value))

    def teardown(self):
        self.loop.close()


main(AsyncioTask)
