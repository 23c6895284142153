# SPDX-License-Identifier: Apache-2.0
"""Measure every server that is installed under every load, in rounds, and hold wheat to its criteria."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from statistics import median

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.servers import CRITERIA, LOADS, OURS, Load, Measured, Round, Verdict, judge
from steelyard.measure import catalog, machine
from steelyard.measure.runner import Outcome, ProcessRunner, Request, scratch_folder
from steelyard.records import Case, Metric
from steelyard.units import format_quantity

_DEADLINE_S = 40.0
_UNITS = {"cpu": "s", "requests": "1/s", "p50": "s", "p99": "s", "resident": "B", "proportional": "B"}
_HEADS = ("CPU a request", "requests", "p50", "p99", "resident", "proportional", "client's CPU")
_VERDICT_HEADS = ("load", "of", "against", "ratio", "is to be", "verdict", "wheat", "theirs", "rounds")
_HELD = {True: "holds", False: "fails", None: "undecided"}
_LEGEND = "medians of the rounds; * the generator was the limit: throughput and latency are bounds"
_VALUES = 2
#: A server that failed this often under a load is not tried again.
_FAILURES = 2


class Bench:
    """The servers under one load after the other, each in a process of its own."""

    def __init__(self, seconds: float) -> None:
        allowed = tuple(sorted(os.sched_getaffinity(0)))
        self._found = catalog.load(catalog.probe_folders())
        self._runner = ProcessRunner(catalog.native_folder() / "launch", allowed, scratch_folder())
        self._seconds = seconds
        self._operations: dict[str, int] = {}
        self.measured: Measured = {}
        self.reasons: dict[str, str] = {}
        self._failures: Counter[str] = Counter()
        self.disturbed = 0

    def run(self, load: Load, server: str) -> None:
        """One run; a server that cannot be measured here is noted with its reason and not tried again."""
        what = f"{server}, {load.name}"
        if server in self.reasons or self._failures[what] >= _FAILURES:
            return
        outcome = self._outcome(load, server)
        if outcome.status == "skipped":
            self.reasons[server] = outcome.error or ""
        elif outcome.transcript is None:
            self._failures[what] += 1
            self.reasons[what] = outcome.error or ""
        kept = self.measured.setdefault((load.name, server), [])
        kept.append(_round(outcome, self._metrics(server)))
        self.disturbed += (outcome.foreign_share or 0.0) > 0.02

    def _outcome(self, load: Load, server: str) -> Outcome:
        skips = {skip.subject: skip.reason for skip in self._found.skips}
        if f"request/{server}" in skips:
            return Outcome(started=0.0, wall_s=0.0, status="skipped", error=skips[f"request/{server}"])
        case = self._case(load, server)
        operations = self._operations.get(case.name)
        if operations is None:
            outcome = self._runner.run(self._request(case, None))
            if outcome.transcript is None:
                return outcome
            # As many as were really done in the time that was asked for: generators go by time or by number.
            operations = max(value.operations for value in outcome.transcript.values)
            self._operations[case.name] = operations
        return self._runner.run(self._request(case, operations))

    def _case(self, load: Load, server: str) -> Case:
        known = {p.name for p in self._found.probes[f"request/{server}"].descriptor.parameters}
        given = [pair for pair in load.parameters.split(",") if pair.partition("=")[0] in known]
        return catalog.select(self._found, [f"request/{server}[{','.join(given)}]"], {}, [])[0]

    def _request(self, case: Case, operations: int | None) -> Request:
        probe = self._found.probes[case.probe]
        return Request(
            case=case,
            program=probe.path,
            descriptor=probe.descriptor,
            values=_VALUES,
            deadline_s=_DEADLINE_S,
            operations=operations,
            target_ns=None if operations else round(self._seconds / _VALUES * 1e9),
        )

    def _metrics(self, server: str) -> tuple[Metric, ...]:
        probe = self._found.probes.get(f"request/{server}")
        return probe.descriptor.metrics if probe else ()


def _round(outcome: Outcome, metrics: tuple[Metric, ...]) -> Round | None:
    """The figures of a run: of each metric the median of its values."""
    if outcome.transcript is None:
        return None
    values = outcome.transcript.values
    figures = {
        metric.name: median(there)
        for metric in metrics
        if (there := [figure for value in values if (figure := value.figure(metric)) is not None])
    }
    by_client = "requests" not in figures
    # A throughput or a latency that the generator limited is no figure of the server, and yet a bound of it.
    figures["requests"] = median(value.operations / value.wall_ns * 1e9 for value in values)
    for name in ("p50", "p99"):
        readings = [value.readings[name] for value in values if name in value.readings]
        if readings:
            figures[name] = median(readings)
    return Round(figures=figures, by_client=by_client)


def _rows(bench: Bench, load: Load) -> list[tuple[str, ...]]:
    """A row for each server that was measured under this load, who needs the least CPU time first."""
    rows = []
    for server in load.servers:
        rounds = [r for r in bench.measured.get((load.name, server), ()) if r is not None]
        if not rounds:
            continue
        cells = [_cell(rounds, name) for name in _UNITS]
        shares = [r.figures["generator_share"] for r in rounds if "generator_share" in r.figures]
        limit = "*" if any(r.by_client for r in rounds) and shares else ""
        share = f"{median(shares):.0%}{limit}" if shares else ""
        rows.append((median(r.figures["cpu"] for r in rounds), (server, *cells, share)))
    return [row for _, row in sorted(rows)]


def _tables(bench: Bench, loads: list[Load], console: Console) -> None:
    for load in loads:
        table = Table(title=load.name, title_justify="left", box=None, pad_edge=False)
        table.add_column("server")
        for head in _HEADS:
            table.add_column(head, justify="right", no_wrap=True)
        for server, *cells in _rows(bench, load):
            table.add_row(Text(server, style="bold" if server == OURS else ""), *cells)
        console.print(table)
        console.print()
    console.print(f"{_LEGEND}\n")


def _cell(rounds: list[Round], name: str) -> str:
    there = [r.figures[name] for r in rounds if name in r.figures]
    return format_quantity(median(there), _UNITS[name]) if there else ""


def _verdict(v: Verdict, colours: dict[str, str] | None = None) -> tuple[str, ...]:
    """A verdict as a row; ``colours``: how each word is shown, by the markup of a console."""
    c = v.criterion
    unit = _UNITS[c.quantity]
    plus = f" + {format_quantity(c.plus, unit)}" if c.plus else ""
    held = _HELD[v.held]
    shown = f"[{colours[held]}]{held}[/] {v.why}" if colours else f"{held} {v.why}"
    return (
        c.load, c.quantity, f"{v.peer}{plus}", f"{median(v.ratios):.3f}", f"{c.rule} {c.bound:g}", shown.rstrip(),
        format_quantity(v.ours, unit), format_quantity(v.theirs, unit), f"{min(v.ratios):.3f} … {max(v.ratios):.3f}",
    )  # fmt: skip


def _criteria(verdicts: list[Verdict], missing: list[str], console: Console) -> None:
    table = Table(title="criteria", title_justify="left", box=None, pad_edge=False)
    for head in _VERDICT_HEADS:
        table.add_column(head, justify="left" if head in ("load", "of", "against", "verdict") else "right")
    colours = {"holds": "green", "fails": "red", "undecided": "yellow"}
    for v in verdicts:
        table.add_row(*_verdict(v, colours))
    console.print(table)
    for line in missing:
        console.print(f"not judged: {line}")


def _markdown(bench: Bench, loads: list[Load], verdicts: list[Verdict]) -> None:
    """The same tables for a page."""

    def table(title: str, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
        print(f"### {title}\n")
        for row in (heads, tuple("---:" if number else "---" for number in range(len(heads))), *rows):
            print("| " + " | ".join(row) + " |")
        print()

    for load in loads:
        table(load.name, ("server", *_HEADS), _rows(bench, load))
    print(f"{_LEGEND}\n")
    table("criteria", _VERDICT_HEADS, [_verdict(v) for v in verdicts])


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:70}", end="\r" if not text else "", file=sys.stderr, flush=True)


def main() -> int:
    """Run the rounds and print the tables; returns 0 if no criterion fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each server under each load")
    parser.add_argument("--seconds", type=float, default=1.0, help="timed part of a run")
    parser.add_argument("--only", default="", help="only loads of these names, or parts of names, by semicolons")
    parser.add_argument("--servers", default="", help="only these servers, by commas")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print figures and verdicts as JSON")
    form.add_argument("--markdown", action="store_true", help="print the tables for a page")
    options = parser.parse_args()
    wanted = [word for word in options.only.split(";") if word]
    names = {load.name for load in LOADS}
    # A whole name means that load alone, though it may be part of others.
    loads = [
        load
        for load in LOADS
        if not wanted or load.name in wanted or any(word in load.name for word in wanted if word not in names)
    ]
    chosen = set(filter(None, options.servers.split(",")))
    bench = Bench(options.seconds)
    began = time.monotonic()
    with machine.lock(lambda holder: print(f"waiting: {holder} measures on this machine", file=sys.stderr)):
        for number in range(options.rounds):
            for load in loads:
                servers = [server for server in load.servers if not chosen or server in chosen]
                start = number % max(1, len(servers))
                for server in (*servers[start:], *servers[:start]):
                    _progress(f"round {number + 1}: {load.name}, {server}")
                    bench.run(load, server)
    _progress("")
    verdicts = [v for criterion in CRITERIA if (v := judge(criterion, bench.measured))]
    judged = [v.criterion for v in verdicts]
    missing = [f"{c.load}, {c.quantity} against {c.theirs}" for c in CRITERIA if c not in judged]
    if options.json:
        rounds = {f"{load}/{server}": kept for (load, server), kept in bench.measured.items()}
        print(json.dumps({"rounds": msgspec.to_builtins(rounds), "verdicts": msgspec.to_builtins(verdicts)}, indent=2))
    elif options.markdown:
        _markdown(bench, loads, verdicts)
    else:
        console = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
        _tables(bench, loads, console)
        _criteria(verdicts, missing, console)
        for what, reason in bench.reasons.items():
            console.print(f"[dim]not measured: {what}: {reason}[/]")
        runs = sum(len(kept) for kept in bench.measured.values())
        took = f"{runs} runs in {time.monotonic() - began:.0f} s"
        console.print(f"[dim]{took}; during {bench.disturbed} others used more than 2 % of the two CPUs[/]")
    return any(v.held is False for v in verdicts)


if __name__ == "__main__":
    sys.exit(main())
