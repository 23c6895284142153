# SPDX-License-Identifier: Apache-2.0
"""Measure every peer that is installed, ours and theirs in turn, and print the ratios."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import pkgutil
import random
import shutil
import subprocess
import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

import benchmarks.peers
from benchmarks.peers import Peer
from steelyard.errors import SteelyardError
from steelyard.judge.samples import CaseRuns
from steelyard.judge.stats.summary import median_interval
from steelyard.measure import catalog, machine
from steelyard.measure.runner import Outcome, ProcessRunner, Request, scratch_folder
from steelyard.records import Case, Metric, PlannedCase, Run, Transcript
from steelyard.units import format_quantity

_TARGET_NS = 10_000_000
_DEADLINE_S = 30.0


def peers() -> list[Peer]:
    """All peers of all files of this folder."""
    names = [module.name for module in pkgutil.iter_modules(benchmarks.peers.__path__) if module.name != "__main__"]
    return [peer for name in names for peer in importlib.import_module(f"benchmarks.peers.{name}").PEERS]


class Pairing:
    """One peer beside our case, measured in rounds."""

    def __init__(self, peer: Peer, found: catalog.Catalog, runner: ProcessRunner, allowed: tuple[int, ...]) -> None:
        self.peer = peer
        self._runner = runner
        self._case: Case = catalog.select(found, [peer.case], {}, [])[0]
        self._probe = found.probes[self._case.probe]
        self._cpus = machine.cpus_for(self._case.placement, allowed)
        self._metric: Metric = next(m for m in self._probe.descriptor.metrics if m.name == peer.metric)
        self._operations: int | None = None
        self.unit = self._metric.unit
        self.ours: list[float] = []
        self.theirs: list[float] = []

    def reason_to_skip(self) -> str | None:
        """Why this peer can't be measured here."""
        for program in (self.peer.command[0], *self.peer.needs):
            if shutil.which(program) is None:
                return f"{program} is not installed"
        return None if self._cpus else "needs two CPUs"

    def round(self, generator: random.Random) -> None:
        """One run of ours and one of theirs, in random order."""
        for side in generator.sample((self._ours, self._theirs), 2):
            side()

    def _ours(self) -> None:
        if self._operations is None:
            self._operations = self._run(None).meta.operations
        transcript = self._run(self._operations)
        run = Run(
            case=self._case.name, role="block", block=1, order=0, attempt=1, started=0.0, wall_s=0.0, status="ok",
            values=transcript.values,
        )  # fmt: skip
        planned = PlannedCase(case=self._case, operations=self._operations, values=self.peer.values, run_s=0.0)
        runs = CaseRuns(planned=planned, descriptor=self._probe.descriptor, runs=(run,))
        self.ours.append(float(runs.sample(self._metric)[0]))

    def _run(self, operations: int | None) -> Transcript:
        outcome: Outcome = self._runner.run(
            Request(
                case=self._case,
                program=self._probe.path,
                descriptor=self._probe.descriptor,
                values=self.peer.values,
                deadline_s=_DEADLINE_S,
                operations=operations,
                target_ns=None if operations else _TARGET_NS,
            )
        )
        if outcome.transcript is None:
            raise SteelyardError(f"{self._case.name} {outcome.error}")
        return outcome.transcript

    def _theirs(self) -> None:
        done = subprocess.run(
            ["taskset", "--cpu-list", ",".join(map(str, self._cpus)), *self.peer.command],
            env={**os.environ, **self.peer.environment}, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        self.theirs.append(self.peer.figure(getattr(done, self.peer.prints_to)))


def _result(pairing: Pairing) -> dict[str, object]:
    ratios = np.array(pairing.ours) / np.array(pairing.theirs)
    ratios = ratios[np.isfinite(ratios)]  # a run of ours that came to no steady state has no number
    interval = median_interval(ratios, 0.95)
    return {
        "peer": pairing.peer.name,
        "case": pairing.peer.case,
        "metric": pairing.peer.metric,
        "unit": pairing.unit,
        "rounds": len(ratios),
        "ours": float(np.nanmedian(pairing.ours)),
        "theirs": float(np.median(pairing.theirs)),
        "ratio": float(np.median(ratios)),
        "low": interval.low,
        "high": interval.high,
        "target": pairing.peer.target,
        "same": pairing.peer.same,
    }


def _print(results: list[dict[str, object]], skipped: list[str]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("peer", "our case", "ours", "peer's", "ours over peer's", "95 % interval", "target"):
        table.add_column(name, justify="left" if name in ("peer", "our case") else "right", no_wrap=True)
    for r in results:
        target = "" if r["target"] is None else "{:g} to {:g}".format(*r["target"])
        figures = (*(format_quantity(r[side], r["unit"]) for side in ("ours", "theirs")), f"{r['ratio']:.3f}")
        interval = f"[{r['low']:.3f}, {r['high']:.3f}]"
        table.add_row(*(Text(str(cell)) for cell in (r["peer"], r["case"], *figures, interval, target)))
    console = Console(width=None if sys.stdout.isatty() else 190, highlight=False)
    console.print(table)
    for line in skipped:
        console.print(f"skipped: {line}")


def main() -> int:
    """Run the rounds and print the ratios; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no round after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="only peers whose name contains this; may be repeated")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    found = catalog.load(catalog.probe_folders())
    runner = ProcessRunner(catalog.native_folder() / "launch", allowed, scratch_folder())
    wanted = [p for p in peers() if any(name in p.name for name in options.only or [""])]
    pairings = [Pairing(p, found, runner, allowed) for p in wanted]
    skipped = [f"{p.peer.name}: {reason}" for p in pairings if (reason := p.reason_to_skip())]
    measurable = [pairing for pairing in pairings if not pairing.reason_to_skip()]
    if len(allowed) > 1:
        os.sched_setaffinity(0, allowed[:-1])
    generator = random.Random(options.seed)
    with machine.lock(lambda holder: print(f"waiting: {holder} measures on this machine", file=sys.stderr)):
        end = time.monotonic() + options.seconds
        for _ in range(options.rounds):
            if time.monotonic() > end:
                break
            for pairing in generator.sample(measurable, len(measurable)):
                pairing.round(generator)
    results = [_result(pairing) for pairing in measurable if np.isfinite(pairing.ours).any()]
    skipped += [
        f"{pairing.peer.name}: no run of ours has this figure"
        for pairing in measurable
        if not np.isfinite(pairing.ours).any()
    ]
    if options.json:
        print(json.dumps({"results": results, "skipped": skipped}, indent=2))
    else:
        _print(results, skipped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
