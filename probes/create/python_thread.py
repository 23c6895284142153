#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_thread - a threading.Thread is created, started, runs and is joined, one at a time.

Known answer: each thread notes the complement of its number.
Overhead: the Thread object and its events; compare create/thread, the same without Python.
Limits: the C library keeps the stacks of ended threads, so after the first operation none is mapped anew.
Source: the threading module; the question of shell909090/context t_thread.c (2014) put to Python.
"""

import os
import sys
import threading

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Metric, Probe, main, skip  # noqa: E402


def create_and_join(times):
    """The timed part; returns how many answers were right."""
    right, answers = 0, []
    for i in range(times):
        thread = threading.Thread(target=lambda question=i: answers.append(~question))
        thread.start()
        thread.join()
        right += answers.pop() == ~i
    return right


class PythonThread(Probe):
    title = "Python thread"
    question = "What does a thread cost in Python?"
    operation = "one threading.Thread, its start, its run of one call, and its join"
    source = "Lib/threading.py; shell909090/context t_thread.c (2014) for C"
    statistic = "median"
    placements = ("same", "free")
    uses = ("cpu", "sched")
    metrics = (
        Metric("thread", "s", "lower", "wall", "operations", "time from the creation to the joined end"),
        Metric("thread_cpu", "s", "lower", "cpu", "operations", "CPU time of both threads for it"),
    )

    def batch(self, operations, value):
        value.start()
        try:
            right = create_and_join(operations)
        except RuntimeError as error:  # can't start new thread
            skip(f"{error}; see ulimit -u and the pids limit of the cgroup")
        value.stop()
        value.counts["checked"] = right


main(PythonThread)
