#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generator - next() on a Python generator: into it and back out at its next yield.

Known answer: the generator counts its own yields and hands the count out.
Overhead: a turn of a loop on each side.  Limits: one hot generator; the interpreter has specialised its code.
Source: py_yield.py of shell909090/context (2014), which times the for loop; see generator_for.
"""

import os
import sys
from itertools import repeat

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Metric, Probe, main  # noqa: E402


def numbers():
    """Yields its own count, for ever."""
    i = 0
    while True:
        i += 1
        yield i


def resume(generator, times):
    """The timed part; returns the last number that the generator yielded."""
    for _ in repeat(None, times):
        last = next(generator)
    return last


class Generator(Probe):
    title = "Python generator, by next()"
    question = "What does resuming a Python generator by next() cost?"
    operation = "one call of next(): into the generator, a turn of its loop, and back out at its yield; no creation"
    source = "shell909090/context py_yield.py (2014)"
    statistic = "lower_quartile"
    placements = ("same",)
    uses = ("cpu",)
    baseline = "call/python_loop"
    metrics = (Metric("resume", "s", "lower", "wall", "operations", "time of one next(), in and out"),)

    def setup(self):
        self.generator = numbers()
        self.before = 0

    def batch(self, operations, value):
        value.start()
        last = resume(self.generator, operations)
        value.stop()
        value.counts["checked"] = last - self.before
        self.before = last


main(Generator)
