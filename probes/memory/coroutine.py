#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coroutine - what a suspended coroutine takes of memory: objects and frames of an async function that awaits one more.

Known answer: all are counted in each batch.
Overhead: the list that holds them, 8 bytes each, is in the figure.
Limits: two frames, the async function and what suspends it; no event loop and no task, which memory/asyncio_task has.
Source: proc_pid_smaps(5).
"""

import os
import sys
import types

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from memory import MemoryProbe  # noqa: E402
from probe import main  # noqa: E402


@types.coroutine
def suspend():
    """What a coroutine waits for."""
    yield


async def count(tally):
    """A context: counts each time that it is resumed."""
    while True:
        tally[0] += 1
        await suspend()


class Coroutine(MemoryProbe):
    title = "Python coroutine"
    question = "What does a suspended coroutine take of memory?"

    def suspend_all(self, contexts):
        self.tally = [0]
        self.coroutines = [count(self.tally) for _ in range(contexts)]
        self.resume_all()

    def resume_all(self):
        before = self.tally[0]
        for coroutine in self.coroutines:
            coroutine.send(None)
        return self.tally[0] - before


main(Coroutine)
