# SPDX-License-Identifier: Apache-2.0
"""pyperf on the same operations, by the interpreter of the lab: what our Python probes add by proving their work.

pyperf runs the setup anew for each value, and with it compiles the function that is timed. Python 3.11 specialises a
function at its eighth call, so that of ten calls most would be of the slow code (29 ns a turn of the bare loop, against
20 ns): each setup ends in ten calls, as our probes begin with ten short batches.

next() comes out at 1.02 to 1.08, and that is not the instrument: pyperf compiles the setup into a function of its
own. In a bare script without either, ten processes each on one CPU, the loop takes 44 ns (41 to 47) where it stands
inside a function, as pyperf has it, and 48.6 ns (45 to 51) where it stands in the module, as in our probe, which
takes 46.9 ns (44 to 50).
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable

from benchmarks.peers import Peer

_VALUES = 9
_LOOPS = 10
_GENERATOR = """
def numbers():
    i = 0
    while True:
        i += 1
        yield i
"""
_ASYNC = """
import asyncio
loop = asyncio.new_event_loop()
async def answer(question):
    return ~question
async def many(times):
    for i in range(times):
        await loop.create_task(answer(i))
"""
_GREENLET = """
import greenlet
back = greenlet.getcurrent().switch
def answer():
    i = 0
    while True:
        i += 1
        back(i)
switch = greenlet.greenlet(answer).switch
switch()
"""


def _seconds(operations: int) -> Callable[[str], float]:
    """The lower quartile of its values, as ours is, from the file that pyperf prints into a pipe."""

    def read(printed: str) -> float:
        values = sorted(
            value for run in json.loads(printed)["benchmarks"][0]["runs"] for value in run.get("values", ())
        )
        return float(values[(len(values) - 1) // 4]) / operations

    return read


def _peer(name: str, case: str, metric: str, setup: str, statement: str, operations: int, same: str) -> Peer:
    """A statement that does so many operations by itself: one by one, pyperf's own loop would be in them."""
    function = statement.partition("(")[0]
    rehearsed = f"{setup}\nfor _ in range(10): {function}(1)" if function.isidentifier() else setup
    python = sys.executable if importlib.util.find_spec("pyperf") else "pyperf"
    return Peer(
        name=f"pyperf timeit, {name}",
        case=case,
        metric=metric,
        command=(
            *(python, "-m", "pyperf", "timeit", "--quiet", "--processes=1", f"--values={_VALUES}", "--warmups=1"),
            *(f"--loops={_LOOPS}", "--pipe=1", "--setup", rehearsed, statement),
        ),
        figure=_seconds(operations),
        same=same,
        target=(0.95, 1.05),
    )


PEERS = (
    _peer(
        "bare loop",
        "call/python_loop@same",
        "turn",
        "def turn(times):\n    i = 0\n    while i < times:\n        i += 1",
        "turn(100000)",
        100_000,
        "a while loop that counts",
    ),
    _peer(
        "next() of a generator",
        "switch/generator@same",
        "resume",
        f"from itertools import repeat\n{_GENERATOR}\ngenerator = numbers()\n"
        "def resume(times):\n    for _ in repeat(None, times):\n        last = next(generator)\n    return last",
        "resume(50000)",
        50_000,
        "next() of a generator that counts",
    ),
    _peer(
        "greenlet switch",
        "switch/greenlet[frames=1,where=child]@same",
        "switch",
        f"from itertools import repeat\n{_GREENLET}\n"
        "def pairs(times):\n    for _ in repeat(None, times):\n        switch()",
        "pairs(10000)",
        20_000,
        "two greenlets to and fro",
    ),
    _peer(
        "asyncio task",
        "create/asyncio_task[loop=asyncio]@same",
        "task",
        _ASYNC,
        "loop.run_until_complete(many(2000))",
        2000,
        "a task created and awaited, one at a time; ours compares the answers",
    ),
)
