#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_thread - two Python threads hand over to each other, and the global interpreter lock with it.

Each waits on a lock that the other releases. The interpreter's own lock goes along: whoever waits has let it go, and
whoever is woken needs it. With `busy` threads that compute meanwhile the woken one has to wait for it until the switch
interval is over, after which the holder is asked to let it go: the answer to a message takes as long, which is known as
the convoy.

Known answer: the partner counts its own turns.
Overhead: a turn of a loop on each side.
Limits: on an interpreter without the lock the interval means nothing, and busy threads only take CPUs.
Source: D. Beazley, Understanding the Python GIL, PyCon 2010; A. Pitrou's new lock of Python 3.2 (ceval_gil) with its
interval of 5 ms.
"""

import os
import sys
import threading
from itertools import repeat

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Integer, Metric, Probe, main  # noqa: E402

_FEWEST_TRIPS = 8  # among busy threads some handoffs wait for an interval and some do not


def answer(there, back, turns):
    """The partner: counts its turns until there is nothing more."""
    while turns is not None:
        there.acquire()
        if turns[0] < 0:
            return
        turns[0] += 1
        back.release()


def round_trips(there, back, times):
    """The timed part."""
    for _ in repeat(None, times):
        there.release()
        back.acquire()


class PythonThread(Probe):
    title = "Python thread"
    question = "What does a handoff between two Python threads cost, and how long does it take while others compute?"
    operation = "one handoff from a thread to the other by a lock, one way"
    source = "D. Beazley, Understanding the Python GIL, PyCon 2010; Python/ceval_gil.c"
    statistic = "median"
    placements = ("same", "cross")
    uses = ("cpu", "sched", "ipc")
    metrics = (
        Metric("handoff", "s", "lower", "wall", "operations", "time of one handoff, one way"),
        Metric("handoff_cpu", "s", "lower", "cpu", "operations", "CPU time of all threads for it"),
        Metric("switches_per_operation", "1", "neither", "switches", "operations",
               "how often a thread was switched away from, for one handoff"),
    )  # fmt: skip
    parameters = (
        Integer("busy", "threads that compute meanwhile", "1", (0, 1), 0, 64, brief=(0,)),
        Integer("interval_us", "the interpreter's switch interval", "us", (5000, 500, 50), 1, 1_000_000, brief=(5000,)),
    )

    def setup(self):
        sys.setswitchinterval(self.given["interval_us"] / 1e6)
        self.there, self.back, self.turns, self.stop = threading.Lock(), threading.Lock(), [0], False
        self.there.acquire()
        self.back.acquire()
        self.threads = [threading.Thread(target=self.partner)]
        self.threads += [threading.Thread(target=self.compute, args=(n,)) for n in range(self.given["busy"])]
        for thread in self.threads:
            thread.start()
        round_trips(self.there, self.back, 1)  # the partner is there

    def partner(self):
        self.place(1)
        answer(self.there, self.back, self.turns)

    def compute(self, number):
        self.place(number)
        while not self.stop:
            pass

    def batch(self, operations, value):
        trips = max((operations + 1) // 2, _FEWEST_TRIPS if self.given["busy"] else 1)
        before = self.turns[0]
        value.operations = 2 * trips
        value.start()
        round_trips(self.there, self.back, trips)
        value.stop()
        value.counts["checked"] = 2 * (self.turns[0] - before)
        value.counts["switches"] = value.switches

    def teardown(self):
        self.stop, self.turns[0] = True, -1
        self.there.release()
        for thread in self.threads:
            thread.join()


main(PythonThread)
