#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""subinterpreter - a second interpreter in this process is created, runs one line and is destroyed, one at a time.

  shared  it takes turns with the others under one global interpreter lock, as before Python 3.12
  own     it has a lock of its own (PEP 684), from Python 3.12 on

Known answer: the line that it runs writes its number into a pipe.
Overhead: the line is compiled, and goes through a pipe.
Limits: without `site`, what an interpreter imports at its start is in it; nothing else is imported.
Source: PEP 554, PEP 684, PEP 734.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Choice, Metric, Probe, main, skip  # noqa: E402


def interface():
    """The module that makes interpreters, by what it is called in this version; skips the run where there is none."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return __import__(name)
        except ImportError:
            continue
    return skip(f"Python {sys.version.split()[0]} has no module for subinterpreters, which came with 3.8")


def maker(lock):
    """A function that makes an interpreter with its lock shared or its own."""
    module = interface()
    own = lock == "own"
    if module.__name__ == "_interpreters":
        return module, lambda: module.create("isolated" if own else "legacy")
    if sys.version_info < (3, 12):
        if not own:
            return module, module.create
        skip(f"Python {sys.version.split()[0]} has one lock for all interpreters; 3.12 and later have one each")
    return module, lambda: module.create(isolated=own)


class Subinterpreter(Probe):
    title = "Python subinterpreter"
    question = "What does a second Python interpreter in the same process cost?"
    operation = "one interpreter created, one line run in it, and destroyed"
    source = "PEP 554, PEP 684, PEP 734"
    statistic = "median"
    placements = ("same",)
    uses = ("cpu",)
    metrics = (Metric("interpreter", "s", "lower", "wall", "operations", "time from the creation to the end"),)
    parameters = (
        Choice("lock", "one global interpreter lock for all, or one of its own", ("shared", "own"), ("shared", "own")),
    )

    def setup(self):
        self.module, self.create = maker(self.given["lock"])
        self.out, self.into = os.pipe()

    def create_and_destroy(self, times):
        """The timed part; returns how many interpreters wrote their number."""
        right = 0
        for i in range(times):
            number = b"%16d" % i
            made = self.create()
            self.module.run_string(made, f"import posix; posix.write({self.into}, {number!r})")
            self.module.destroy(made)
            right += os.read(self.out, 16) == number
        return right

    def batch(self, operations, value):
        value.start()
        right = self.create_and_destroy(operations)
        value.stop()
        value.counts["checked"] = right


main(Subinterpreter)
