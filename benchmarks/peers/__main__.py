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
from collections.abc import Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A peer's figure and ours, one of each a round."""

    peer: Peer
    metric: Metric
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)


class Pairing:
    """A peer's command beside our case, measured in rounds; the ``peers`` are the figures that both have."""

    def __init__(
        self, peers: Sequence[Peer], found: catalog.Catalog, runner: ProcessRunner, allowed: tuple[int, ...]
    ) -> None:
        self._peer = peers[0]
        self._runner = runner
        self._case: Case = catalog.select(found, [self._peer.case], {}, [])[0]
        self._probe = found.probes[self._case.probe]
        self._cpus = machine.cpus_for(self._case.placement, allowed)
        self._operations: int | None = None
        metrics = {metric.name: metric for metric in self._probe.descriptor.metrics}
        self.figures = [Figures(peer=peer, metric=metrics[peer.metric]) for peer in peers]

    def reason_to_skip(self) -> str | None:
        """Why this peer can't be measured here."""
        for program in (self._peer.command[0], *self._peer.needs):
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
        planned = PlannedCase(case=self._case, operations=self._operations, values=self._peer.values, run_s=0.0)
        runs = CaseRuns(planned=planned, descriptor=self._probe.descriptor, runs=(run,))
        for one in self.figures:
            one.ours.append(float(runs.sample(one.metric)[0]))

    def _run(self, operations: int | None) -> Transcript:
        outcome: Outcome = self._runner.run(
            Request(
                case=self._case,
                program=self._probe.path,
                descriptor=self._probe.descriptor,
                values=self._peer.values,
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
            ["taskset", "--cpu-list", ",".join(map(str, self._cpus)), *self._peer.command],
            env={**os.environ, **self._peer.environment}, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        for one in self.figures:
            one.theirs.append(one.peer.figure(getattr(done, one.peer.prints_to)))


def _result(figures: Figures) -> dict[str, object]:
    peer, ours, theirs = figures.peer, np.array(figures.ours), np.array(figures.theirs)
    measured = np.isfinite(ours)  # a run of ours that came to no steady state has no number
    ours, theirs, half = ours[measured], theirs[measured], peer.resolution / 2
    with np.errstate(divide="ignore"):
        most = np.where(theirs > half, ours / (theirs - half), np.inf)
    return {
        "peer": peer.name,
        "case": peer.case,
        "metric": peer.metric,
        "unit": figures.metric.unit,
        "rounds": len(ours),
        "ours": float(np.median(ours)),
        "theirs": float(np.median(theirs)),
        "ratio": float(np.median(ours / theirs)),
        "low": median_interval(ours / (theirs + half), 0.95).low,
        "high": median_interval(most, 0.95).high,
        "target": peer.target,
        "same": peer.same,
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
    alike: dict[object, list[Peer]] = {}
    for peer in peers():
        if any(name in peer.name for name in options.only or [""]):
            alike.setdefault(peer.runs, []).append(peer)
    pairings = [Pairing(some, found, runner, allowed) for some in alike.values()]
    skipped = [f"{one.peer.name}: {reason}" for p in pairings if (reason := p.reason_to_skip()) for one in p.figures]
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
    figures = [one for pairing in measurable for one in pairing.figures]
    known = [one for one in figures if np.isfinite(one.ours).any()]
    results = [_result(one) for one in known]
    skipped += [f"{one.peer.name}: no run of ours has this figure" for one in figures if one not in known]
    if options.json:
        print(json.dumps({"results": results, "skipped": skipped}, indent=2))
    else:
        _print(results, skipped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
