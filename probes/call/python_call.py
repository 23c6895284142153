#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_call - a call of a Python function by a Python function.

Known answer: each call returns its argument plus one.
Overhead: a turn of a loop, as call/python_loop has it, whose addition stands in the called function here.
Limits: one argument by position, and the interpreter has specialised the call (from 3.11 on without a frame of C).
Source: pyperformance's call_simple; the calls of pybench before it.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Metric, Probe, main  # noqa: E402


def successor(i):
    """The function that is called."""
    return i + 1


def call(times):
    """The timed part; returns the last answer."""
    i = 0
    while i < times:
        i = successor(i)
    return i


class PythonCall(Probe):
    title = "function call in Python"
    question = "What does a function call cost in Python?"
    operation = "one call of a function of one argument and its return, and a turn of the loop around it"
    source = "pyperformance call_simple; pybench"
    statistic = "lower_quartile"
    placements = ("same",)
    uses = ("cpu",)
    baseline = "call/python_loop"
    metrics = (Metric("call", "s", "lower", "wall", "operations", "time of one call and return"),)

    def batch(self, operations, value):
        value.start()
        answer = call(operations)
        value.stop()
        value.counts["checked"] = answer


main(PythonCall)
