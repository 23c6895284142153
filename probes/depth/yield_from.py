#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""yield_from - a for loop over a generator through a chain of `yield from`.

Depth 1 is one generator that delegates to the one that yields. All of the chain is walked at every resume unless the
interpreter has a short cut.

Known answer: the innermost generator counts its own yields and hands the count out.
Overhead: a turn of a loop at both ends; compare switch/generator_for, which is depth 0.
Limits: the chain is entered before the timed part, and left within it, once a batch.
Source: py_yield_from.py of shell909090/context (2014), depths 1 to 29; PEP 380.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Integer, Metric, Probe, main  # noqa: E402


def numbers(times):
    """Yields 1, 2, 3 … up to and with `times`."""
    i = 0
    while i < times:
        i += 1
        yield i


def delegate(inner):
    """A level of the chain."""
    yield from inner


def iterate(chain):
    """The timed part; returns the last number that came out of the chain."""
    for last in chain:  # noqa: B007 - the last one is the answer
        pass
    return last


class YieldFrom(Probe):
    title = "Python generator, yield from"
    family = "chain"
    question = "What does a turn of a for loop cost over a chain of yield from, and how does it grow with the depth?"
    operation = "one turn: into the innermost generator through the chain, and back out at its yield; no creation"
    source = "shell909090/context py_yield_from.py (2014): 113.8 ns at depth 1, 25.4 ns a level; PEP 380"
    statistic = "lower_quartile"
    placements = ("same",)
    uses = ("cpu",)
    metrics = (Metric("turn", "s", "lower", "wall", "operations", "time of one turn of the loop over the chain"),)
    parameters = (
        Integer(
            "depth",
            "generators that delegate to the next, around the one that yields",
            "1",
            (1, 2, 5, 10, 20, 29, 50, 100),
            1,
            500,
            brief=(1, 10, 100),
        ),
    )

    def batch(self, operations, value):
        chain = numbers(operations + 1)
        for _ in range(self.given["depth"]):
            chain = delegate(chain)
        first = next(chain)
        value.start()
        last = iterate(chain)
        value.stop()
        value.counts["checked"] = last - first


main(YieldFrom)
