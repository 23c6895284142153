# SPDX-License-Identifier: Apache-2.0
"""`steelyard run`: measure and keep a session."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy
import scipy
from cyclopts import Parameter
from rich.console import Console

import steelyard
from steelyard.cli import output
from steelyard.errors import CasesFailedError, SessionFileError, UsageError
from steelyard.judge.findings import judge
from steelyard.keep import session as sessions
from steelyard.measure import catalog, conduct, machine, plan
from steelyard.measure.audit import audit
from steelyard.measure.runner import ProcessRunner, scratch_folder
from steelyard.records import SCHEMA, Audit, Case, Header, Machine, Resumed, Session
from steelyard.show import jsonview, terminal
from steelyard.show.progress import progress
from steelyard.units import parse_duration

_DEFAULT_BLOCKS = 10
_TARGET = "10ms"
_QUICK_TARGET = "4ms"
_VALUES = 9


def command(
    *selectors: str,
    param: Annotated[list[str] | None, Parameter(name=["--param", "-p"], negative="")] = None,
    placement: Annotated[list[str] | None, Parameter(negative="")] = None,
    blocks: int | None = None,
    budget: str | None = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    seed: int | None = None,
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    resume: Path | None = None,
    target: str | None = None,
    values: int | None = None,
    deadline: str = "60s",
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Measure cases and keep them as a session.

    Parameters
    ----------
    selectors
        What to measure: globs over question/way (``switch/*``), a bare question or way (``yield``), or cases such as
        ``switch/yield[contexts=2]@same``. Everything when left out.
    param
        Override a sweep: ``contexts=1,2,4``. May be repeated.
    placement
        Only these placements: same, cross, free. May be repeated.
    blocks
        Number of blocks; every block runs each case once in a fresh process. Default 10; 6 give the first interval.
    budget
        Measure for about this long instead: ``3m``, ``90s``, ``1h``.
    quick
        Shorter runs and 6 blocks: a first look.
    seed
        Seed of the order of runs; drawn and recorded when left out.
    output_file
        Session file to write; default: a new one in the sessions folder.
    resume
        Go on with an interrupted session.
    target
        Length of one value; the number of operations is found once, in a pilot.
    values
        Fewest values a run.
    deadline
        Longest that one run may take.
    json
        Print the results as JSON.
    """
    if resume is not None and (selectors or param or placement or blocks or budget or quick or output_file):
        raise UsageError("--resume goes on with the plan of the session: leave selectors and other settings away")
    if blocks is not None and budget is not None:
        raise UsageError("--blocks and --budget both say when to end: give one of them")
    for name, number in (("--blocks", blocks), ("--values", values)):
        if number is not None and number < 1:
            raise UsageError(f"{name} must be at least 1")
    host = machine.survey()
    deadline_s = parse_duration(deadline)
    found = catalog.load(catalog.probe_folders())
    if resume is not None:
        header, before = _interrupted(resume, host, found)
        path = resume
    else:
        before = None
        selection = catalog.select(found, selectors, _parse_params(param or []), placement or [])
        path = output_file or sessions.new_path(host.key)
        header = _header(
            host,
            found,
            selection,
            seed=random.SystemRandom().randrange(2**32) if seed is None else seed,
            blocks=_blocks(blocks, budget, quick=quick),
            budget_s=None if budget is None else parse_duration(budget),
            target_ns=round(parse_duration(target or (_QUICK_TARGET if quick else _TARGET)) * 1e9),
            values=values or (plan.FEWEST_VALUES if quick else _VALUES),
        )
    finished = _measure(header, before, path, found, host, deadline_s)
    _present(finished, json=json)


def _blocks(blocks: int | None, budget: str | None, *, quick: bool) -> int | None:
    if blocks is None and budget is None:
        return plan.FEWEST_BLOCKS if quick else _DEFAULT_BLOCKS
    return blocks


def _parse_params(texts: Sequence[str]) -> dict[str, list[str]]:
    parsed: dict[str, list[str]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        if not equals or not name or not listed:
            raise UsageError(f'--param takes name=value[,value…], not "{text}"')
        parsed.setdefault(name, []).extend(listed.split(","))
    return parsed


def _header(
    host: Machine,
    found: catalog.Catalog,
    selection: list[Case],
    *,
    seed: int,
    blocks: int | None,
    budget_s: float | None,
    target_ns: int,
    values: int,
) -> Header:
    controls = [case for case in plan.controls() if case.probe in found.probes]
    baselines = [baseline for case in selection if (baseline := catalog.baseline_of(case, found))]
    used = {case.probe for case in (*selection, *controls, *baselines)}
    return Header(
        schema=SCHEMA,
        id=os.urandom(8).hex(),
        started=sessions.now(),
        seed=seed,
        machine=host,
        versions={
            "steelyard": steelyard.__version__,
            "python": sys.version.split()[0],
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
        },
        command=tuple(sys.argv[1:]),
        selection=tuple(selection),
        controls=tuple(controls),
        probes={name: found.probes[name].facts() for name in sorted(used)},
        blocks=blocks,
        budget_s=budget_s,
        target_ns=target_ns,
        values=values,
    )


def _interrupted(path: Path, host: Machine, found: catalog.Catalog) -> tuple[Header, Session]:
    """The session to go on with; refuses when machine or probes are no longer the same."""
    before = sessions.read(path)
    header = before.header
    if before.end is not None:
        raise SessionFileError(f"{path} is complete: there is nothing to resume; `steelyard show {path}` shows it")
    if header.machine.key != host.key:
        raise SessionFileError(f"{path} was begun on machine {header.machine.key} and this is {host.key}: go on there")
    for name, facts in header.probes.items():
        if name not in found.probes or found.probes[name].facts().sha256 != facts.sha256:
            raise SessionFileError(f"{path}: probe {name} is not the program it was: begin a new session")
    return header, before


def _measure(
    header: Header,
    before: Session | None,
    path: Path,
    found: catalog.Catalog,
    host: Machine,
    deadline_s: float,
) -> Session:
    words = Console(stderr=True, highlight=False)
    cases = [*header.selection, *header.controls]
    work = conduct.Work(
        header=header,
        programs={name: found.probes[name].path for name in header.probes},
        baselines={case.name: baseline for case in cases if (baseline := catalog.baseline_of(case, found))},
        deadline_s=deadline_s,
        before=before,
    )
    scratch = scratch_folder()
    try:
        with machine.lock(lambda: words.print("another session measures on this machine; waiting for it to end")):
            writer = sessions.SessionWriter.reopen(path) if before else sessions.SessionWriter.create(path, header)
            with writer:
                if before:
                    writer.append(Resumed(at=sessions.now(), machine_key=host.key))
                else:
                    for skip in found.skips:
                        writer.append(skip)
                writer.append(Audit(moment="before", disturbances=audit(host)))
                runner = ProcessRunner(catalog.native_folder() / "launch", host.cpus, scratch)
                with _out_of_the_way(host.cpus), progress(words, str(path)) as shown:
                    conduct.Conductor(work, runner, writer.append, shown).conduct()
    except KeyboardInterrupt:
        words.print(f"interrupted; all finished runs are kept: go on with\n  steelyard run --resume {path}")
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return sessions.read(path)


class _out_of_the_way:  # noqa: N801 - reads as a statement
    """Keep the lab off the CPU on which pinned probes run, where there is another one."""

    def __init__(self, cpus: tuple[int, ...]) -> None:
        self._cpus = cpus

    def __enter__(self) -> None:
        if len(self._cpus) > 1:
            os.sched_setaffinity(0, self._cpus[:-1])

    def __exit__(self, *_: object) -> None:
        os.sched_setaffinity(0, self._cpus)


def _present(session: Session, *, json: bool) -> None:
    findings = judge(session)
    if json:
        output.print_json(jsonview.cases(findings))
    else:
        terminal.show(findings, output.console())
    if findings.failures:
        names = ", ".join(sorted(findings.failures)[:3])
        more = f" and {len(findings.failures) - 3} more" if len(findings.failures) > 3 else ""
        raise CasesFailedError(f"{names}{more} failed; the rest is measured and kept in {session.path}")
