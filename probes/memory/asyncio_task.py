#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""asyncio_task - what a suspended asyncio task takes of memory: the task, its coroutine, the future that it waits for.

Known answer: all are counted in each batch.
Overhead: the list that holds them, 8 bytes each, is in the figure.
Limits: each waits for a future of its own, as one that waits for an answer does.
Source: proc_pid_smaps(5); asyncio/tasks.py.
"""

import asyncio
import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from memory import MemoryProbe  # noqa: E402
from probe import main  # noqa: E402


class AsyncioTask(MemoryProbe):
    title = "asyncio task"
    question = "What does a suspended asyncio task take of memory?"

    def prepare(self):
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(asyncio.sleep(0))

    async def count(self, index):
        while True:
            self.tally += 1
            self.waited_for[index] = self.loop.create_future()
            await self.waited_for[index]

    def suspend_all(self, contexts):
        self.tally = 0
        self.waited_for = [None] * contexts
        self.tasks = [self.loop.create_task(self.count(index)) for index in range(contexts)]
        self.loop.run_until_complete(self.until(contexts))

    async def until(self, tally):
        while self.tally < tally:
            await asyncio.sleep(0)

    def resume_all(self):
        before = self.tally
        for future in self.waited_for:
            future.set_result(None)
        self.loop.run_until_complete(self.until(before + len(self.tasks)))
        return self.tally - before


main(AsyncioTask)
