# SPDX-License-Identifier: Apache-2.0
"""What open counters do to what is timed: why a probe counts in batches of their own.

    python -m benchmarks.counting [ROUNDS]

A pipe round trip of two threads on one CPU, without counters, with four events that are open and disabled, and with the
same that count; in turn, in random order, each a process of its own. By the events of hardware where the machine has
them, and by those of software.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from steelyard.judge.stats.comparison import compare_paired
from steelyard.units import format_quantity

_STATES = ("none", "disabled", "counting")


def _measured(program: Path, kind: str, rounds: int) -> dict[str, list[float]] | None:
    """Nanoseconds by state, a number a round; None where there are no such counters."""
    generator = random.Random(1)
    found: dict[str, list[float]] = {state: [] for state in _STATES}
    for _ in range(rounds):
        for state in generator.sample(_STATES, len(_STATES)):
            done = subprocess.run([program, kind, state], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                print(f"{kind}: {done.stderr.strip()}")
                return None
            found[state].append(float(done.stdout))
    return found


def main() -> None:
    """Print the round trip in each state, and its ratio to that without counters."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "counting"
        source = Path(__file__).with_suffix(".c")
        subprocess.run(["cc", "-std=gnu17", "-O2", "-pthread", source, "-o", program], check=True)
        for kind in ("hardware", "software"):
            found = _measured(program, kind, rounds)
            for state in _STATES if found else ():
                ratio = compare_paired(found["none"], found[state])
                cost = format_quantity(float(np.median(found[state])) * 1e-9, "s")
                print(f"{kind} {state:8}  {cost:>8}  {ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] of none")


if __name__ == "__main__":
    main()
