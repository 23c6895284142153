#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_queue - a number goes to another Python thread through a queue and back through a second one.

Known answer: each number comes back as its complement.
Overhead: a turn of a loop and a call on each side; compare switch/python_thread, which has the handoff alone.
Limits: one number at a time, so that whoever takes it always has to be woken.
Source: Lib/queue.py, a deque under a condition; the SimpleQueue of Python 3.7, in C.
"""

import os
import queue
import sys
import threading

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Choice, Metric, Probe, main  # noqa: E402


def answer(there, back):
    """The partner: answers until there is nothing more."""
    for question in iter(there.get, None):
        back.put(~question)


def round_trips(there, back, times):
    """The timed part; returns how many answers were right."""
    right, put, get = 0, there.put, back.get
    for i in range(times):
        put(i)
        right += get() == ~i
    return right


class PythonQueue(Probe):
    title = "Python queue"
    question = "What does a message between two Python threads cost through a queue?"
    operation = "one round trip of a number between two threads, there and back, each way through a queue of its own"
    source = "Lib/queue.py"
    statistic = "median"
    placements = ("same", "cross")
    uses = ("cpu", "sched", "ipc")
    metrics = (
        Metric("round_trip", "s", "lower", "wall", "operations", "time of one round trip, there and back"),
        Metric("round_trip_cpu", "s", "lower", "cpu", "operations", "CPU time of both threads for it"),
        Metric("switches_per_operation", "1", "neither", "switches", "operations",
               "how often a thread was switched away from in a round trip"),
    )  # fmt: skip
    parameters = (
        Choice("type", "queue.Queue or queue.SimpleQueue", ("Queue", "SimpleQueue"), ("Queue", "SimpleQueue")),
    )

    def setup(self):
        kind = getattr(queue, self.given["type"])
        self.there, self.back = kind(), kind()
        self.thread = threading.Thread(target=self.partner)
        self.thread.start()
        round_trips(self.there, self.back, 1)  # the partner is there

    def partner(self):
        self.place(1)
        answer(self.there, self.back)

    def batch(self, operations, value):
        value.start()
        right = round_trips(self.there, self.back, operations)
        value.stop()
        value.counts["checked"] = right
        value.counts["switches"] = value.switches

    def teardown(self):
        self.there.put(None)
        self.thread.join()


main(PythonQueue)
