#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""greenlet - two greenlets of one thread switch to each other, with frames in the child or below both.

A greenlet keeps its part of the C stack by copying it away when another one needs the room. How much that is depends on
what stands on the C stack. Up to Python 3.10 every Python frame did; from 3.11 on a Python function that calls a Python
function does not, and only calls that go through code in C still do.

  child    the frames are Python functions calling each other, inside the child: what the seed meant to test
  child_c  the same, each called by code in C (map), as callbacks and methods of C types are: all on the C stack
  below    the frames stand below both, so that no switch has to do with them: what the seed did test

Known answer: both sides arrive equally often.
Overhead: a turn of a loop on each side.
Limits: two greenlets that stay in the cache; in Python, not through greenlet's C interface.
Source: py_greenlet.py of shell909090/context (2014); greenlet's own greenlet.cpp on how stacks are saved.
"""

import os
import sys
from itertools import repeat

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Choice, Integer, Metric, Probe, main  # noqa: E402

try:
    import greenlet
except ImportError as error:
    greenlet, missing = None, error


def descend(frames, body):
    """Calls the body with so many frames of this file on the Python stack."""
    return body() if frames <= 1 else descend(frames - 1, body)


def descend_through_c(frames, body):
    """The same, with a frame of C between any two."""
    if frames <= 1:
        return body()
    return next(map(descend_through_c, (frames - 1,), (body,)))


def switch_pairs(switch, pairs):
    """The timed part; returns how often the child has switched back so far."""
    for _ in repeat(None, pairs):
        arrived = switch()
    return arrived


class Greenlet(Probe):
    title = "greenlet"
    question = "What does a switch between two greenlets cost, and does the depth of their stacks matter?"
    operation = "one switch from one greenlet to another, one way; no creation"
    source = "shell909090/context py_greenlet.py (2014): 240 ns; the frames were below both greenlets"
    statistic = "lower_quartile"
    placements = ("same",)
    uses = ("cpu",)
    metrics = (Metric("switch", "s", "lower", "wall", "operations", "time of one switch, one way"),)
    parameters = (
        Integer("frames", "depth of the stack in question", "1", (1, 10, 100, 1000), 1, 1000, brief=(1, 100)),
        Choice("where", "frames of Python in the child, the same called through C, or below both",
               ("child", "child_c", "below"), ("child", "child_c", "below")),
    )  # fmt: skip

    @classmethod
    def lacks(cls):
        return None if greenlet else f"greenlet is not installed for {sys.executable} ({missing}): pip install greenlet"

    def setup(self):
        sys.setrecursionlimit(10 * self.given["frames"] + 1000)

    def versions(self):
        return {"greenlet": greenlet.__version__}

    def batch(self, operations, value):
        frames, where = self.given["frames"], self.given["where"]
        descend(frames if where == "below" else 1, lambda: self.pairs(operations, value))

    def pairs(self, operations, value):
        """Called with the frames of `below` on the stack: the child's begin where these end."""
        pairs = (operations + 1) // 2
        frames, where = self.given["frames"], self.given["where"]
        parent = greenlet.getcurrent()

        def answer():
            i, back = 0, parent.switch
            while True:
                i += 1
                back(i)

        descent = descend_through_c if where == "child_c" else descend
        child = greenlet.greenlet(lambda: descent(1 if where == "below" else frames, answer))
        first = child.switch()
        value.operations = 2 * pairs
        value.start()
        last = switch_pairs(child.switch, pairs)
        value.stop()
        value.counts["checked"] = 2 * (last - first)
        child.throw()


main(Greenlet)
