#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""await_chain - a coroutine is resumed through a chain of `await`.

Depth 1 is one async function that awaits what suspends. There is no event loop: the resume is a plain send().

Known answer: what suspends counts how often it did and hands the count out.
Overhead: a turn of a loop at both ends.
Limits: the chain is entered before the timed part; nothing waits for any event.
Source: PEP 492, by which await is yield from; the question of shell909090/context (2014) put to it.
"""

import os
import sys
import types
from itertools import repeat

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Integer, Metric, Probe, main  # noqa: E402


@types.coroutine
def suspend():
    """Suspends for ever, each time with the number of the time."""
    i = 0
    while True:
        i += 1
        yield i


async def wait(inner):
    """A level of the chain."""
    await inner


def resume(chain, times):
    """The timed part; returns the last number that came out of the chain."""
    send = chain.send
    for _ in repeat(None, times):
        last = send(None)
    return last


class AwaitChain(Probe):
    title = "Python coroutine, await"
    family = "chain"
    question = "What does resuming a coroutine cost through a chain of await, and how does it grow with the depth?"
    operation = (
        "one send(): into the innermost coroutine through the chain, and back out at its suspension; no creation"
    )
    source = "PEP 492; the question of shell909090/context py_yield_from.py (2014)"
    statistic = "lower_quartile"
    placements = ("same",)
    uses = ("cpu",)
    metrics = (Metric("resume", "s", "lower", "wall", "operations", "time of one send(), in and out"),)
    parameters = (
        Integer(
            "depth",
            "async functions that await the next, around what suspends",
            "1",
            (1, 2, 5, 10, 20, 50, 100),
            1,
            500,
            brief=(1, 10, 100),
        ),
    )

    def setup(self):
        self.chain = suspend()
        for _ in range(self.given["depth"]):
            self.chain = wait(self.chain)
        self.before = self.chain.send(None)

    def batch(self, operations, value):
        value.start()
        last = resume(self.chain, operations)
        value.stop()
        value.counts["checked"] = last - self.before
        self.before = last

    def teardown(self):
        self.chain.close()


main(AwaitChain)
