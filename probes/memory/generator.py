#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generator - what a suspended generator takes of memory: the object and its frame.

Known answer: all are counted in each batch.
Overhead: the list that holds them, 8 bytes each, is in the figure.
Limits: a generator of one variable; its frame grows with the function's variables and the depth of its expressions.
Source: proc_pid_smaps(5).
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from memory import MemoryProbe  # noqa: E402
from probe import main  # noqa: E402


def count(tally):
    """A context: counts each time that it is resumed."""
    while True:
        tally[0] += 1
        yield


class Generator(MemoryProbe):
    title = "Python generator"
    question = "What does a suspended generator take of memory?"

    def suspend_all(self, contexts):
        self.tally = [0]
        self.generators = [count(self.tally) for _ in range(contexts)]
        self.resume_all()

    def resume_all(self):
        before = self.tally[0]
        for generator in self.generators:
            next(generator)
        return self.tally[0] - before


main(Generator)
