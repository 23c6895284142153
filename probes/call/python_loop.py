#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_loop - one turn of a bare while loop in Python: what every Python probe's loop costs, and their baseline.

Known answer: the counter ends at the number of turns.
Overhead: two clock reads and a call a batch.
Limits: a for loop turns faster; the counter is an int beyond the small ones that are kept, so a turn makes one.
Source: the loop that py_yield.py of shell909090/context (2014) compares with.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Metric, Probe, main  # noqa: E402


def turn(times):
    """The timed part; returns how many turns it made."""
    i = 0
    while i < times:
        i += 1
    return i


class PythonLoop(Probe):
    title = "empty loop in Python"
    question = "What does one turn of a bare loop cost in Python?"
    operation = "one comparison, one addition and the jump back of a while loop"
    source = "shell909090/context py_yield.py (2014): 54.2 ns in Python 2, 63.2 ns in Python 3"
    statistic = "lower_quartile"
    placements = ("same",)
    uses = ("cpu",)
    metrics = (Metric("turn", "s", "lower", "wall", "operations", "time of one turn of the loop"),)

    def batch(self, operations, value):
        value.start()
        turns = turn(operations)
        value.stop()
        value.counts["checked"] = turns


main(PythonLoop)
