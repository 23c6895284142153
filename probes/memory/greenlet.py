#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""greenlet - what a suspended greenlet takes of memory: the object, what is saved of the C stack, its Python frames.

Known answer: all are counted in each batch.
Overhead: the list that holds them, 8 bytes each, is in the figure.
Limits: one Python frame; what is saved of the C stack grows with the calls that go through C.
Source: proc_pid_smaps(5); greenlet's own greenlet.cpp.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from memory import MemoryProbe  # noqa: E402
from probe import main  # noqa: E402

try:
    import greenlet
except ImportError as error:
    greenlet, missing = None, error


class Greenlet(MemoryProbe):
    title = "greenlet"
    question = "What does a suspended greenlet take of memory?"

    @classmethod
    def lacks(cls):
        return None if greenlet else f"greenlet is not installed for {sys.executable} ({missing}): pip install greenlet"

    def prepare(self):
        self.back = greenlet.getcurrent().switch

    def versions(self):
        return {"greenlet": greenlet.__version__}

    def count(self):
        while True:
            self.tally += 1
            self.back()

    def suspend_all(self, contexts):
        self.tally = 0
        self.greenlets = [greenlet.greenlet(self.count) for _ in range(contexts)]
        self.resume_all()

    def resume_all(self):
        before = self.tally
        for one in self.greenlets:
            one.switch()
        return self.tally - before


main(Greenlet)
