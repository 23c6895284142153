#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python2_loop - one turn of a bare while loop in Python 2, which this probe starts and asks.

Known answer: the counter ends at the number of turns.
Overhead: two clock reads and a call a batch, in Python 2.
Limits: Python 2 ended in 2020; it is looked for among pyenv's versions, and as python2.7 or python2 in PATH. Its clock
is the time of day, in microseconds.
Source: the loop that py_yield.py of shell909090/context (2014) compares with.
"""

import glob
import os
import shutil
import subprocess
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Metric, Probe, fail, main  # noqa: E402

# Says which version it is, then for each number of turns on a line how many it made, and nanoseconds and CPU time.
PROGRAM = """
import sys, time
from resource import RUSAGE_SELF, getrusage

def turn(times):
    i = 0
    while i < times:
        i += 1
    return i

def say(*numbers):
    sys.stdout.write(" ".join(map(str, numbers)) + "\\n")
    sys.stdout.flush()

say(sys.version.split()[0])
for line in iter(sys.stdin.readline, ""):
    used, began = getrusage(RUSAGE_SELF), time.time()
    turns = turn(int(line))
    ended, after = time.time(), getrusage(RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    say(turns, int((ended - began) * 1e9), int(cpu * 1e9))
"""


def python2():
    """The path of a Python 2; None where none starts."""
    of_pyenv = os.path.join(os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv"), "versions", "2.7*", "bin")
    found = [*glob.glob(os.path.join(of_pyenv, "python2.7")), shutil.which("python2.7"), shutil.which("python2")]
    for path in filter(None, found):
        # What is in PATH may be a switch that has none to switch to.
        if subprocess.call([path, "-c", ""], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            return path
    return None


PYTHON2 = python2()


class Python2Loop(Probe):
    title = "empty loop in Python 2"
    question = "What does one turn of a bare loop cost in Python 2?"
    operation = "one comparison, one addition and the jump back of a while loop"
    source = "shell909090/context py_yield.py (2014): 54.2 ns in Python 2, 63.2 ns in Python 3"
    statistic = "lower_quartile"
    placements = ("same",)
    uses = ("cpu",)
    metrics = (Metric("turn", "s", "lower", "wall", "operations", "time of one turn of the loop"),)
    works_itself = False

    @classmethod
    def lacks(cls):
        if PYTHON2:
            return None
        return "Python 2 is not installed, and few systems still have it: pyenv install 2.7, or put python2.7 in PATH"

    def setup(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.python2 = subprocess.Popen([PYTHON2, "-c", PROGRAM], universal_newlines=True, **pipes)
        self.version = self.answer()

    def answer(self):
        line = self.python2.stdout.readline()
        if not line:
            fail(f"{PYTHON2} ended with code {self.python2.wait()} before it had turned the loop")
        return line.strip()

    def versions(self):
        return {"Python": self.version}

    def batch(self, operations, value):
        value.start()
        self.python2.stdin.write(f"{operations}\n")
        self.python2.stdin.flush()
        turns, wall_ns, cpu_ns = map(int, self.answer().split())
        value.stop()
        value.stands_for(max(1, wall_ns), cpu_ns)
        value.counts["checked"] = turns

    def teardown(self):
        self.python2.stdin.close()
        if self.python2.wait() != 0:
            fail(f"{PYTHON2} ended with code {self.python2.returncode}")


main(Python2Loop)
