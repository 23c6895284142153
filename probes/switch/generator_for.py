#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generator_for - a for loop over a Python generator: into it and out at its yield, once a turn.

Known answer: the generator counts its own yields and hands the count out.
Overhead: a turn of a loop on each side.  Limits: one hot generator; the interpreter has specialised its code.
Source: py_yield.py of shell909090/context (2014); its generator and its bare loop are while loops, as here.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Metric, Probe, main  # noqa: E402


def numbers(times):
    """Yields 1, 2, 3 … up to and with `times`."""
    i = 0
    while i < times:
        i += 1
        yield i


def iterate(generator):
    """The timed part; returns the last number that the generator yielded."""
    for last in generator:  # noqa: B007 - the last one is the answer
        pass
    return last


class GeneratorFor(Probe):
    title = "Python generator, in a for loop"
    question = "What does a turn of a for loop over a Python generator cost?"
    operation = "one turn: into the generator, a turn of its own loop, and back out at its yield; no creation"
    source = "shell909090/context py_yield.py (2014): 76.4 ns in Python 2, 88.3 ns in Python 3"
    statistic = "lower_quartile"
    placements = ("same",)
    uses = ("cpu",)
    baseline = "call/python_loop"
    metrics = (Metric("turn", "s", "lower", "wall", "operations", "time of one turn of the loop over the generator"),)

    def batch(self, operations, value):
        generator = numbers(operations + 1)
        first = next(generator)
        value.start()
        last = iterate(generator)
        value.stop()
        value.counts["checked"] = last - first


main(GeneratorFor)
