# SPDX-License-Identifier: Apache-2.0
"""The session that weighs WSGI servers with an application of one's own."""

from __future__ import annotations

import shutil
import statistics
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from steelyard.errors import UsageError
from steelyard.judge import servers as judging
from steelyard.judge.curves import way_of
from steelyard.lab.planning import Planner, Question, enough_blocks
from steelyard.lab.session import Lab, interpreter
from steelyard.measure import catalog
from steelyard.measure.runner import ProcessRunner, Request, scratch_folder
from steelyard.records import Case, Placement, Run, Session, Variant
from steelyard.settings import Settings

_OWN = "own"
#: Threads of a worker in a sweep, beside the server's own default: what waits for a database gains from a few.
_THREADS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How the servers are run and what is asked of them."""

    path: str = "/"
    """What is asked for, with its query; it must be answered with 200."""

    connections: int = 50
    """Connections of the client."""

    server: list[str] | None = None
    """Only this server, by the name that ``steelyard list`` has under ``request/``. May be repeated."""

    python: str | None = None
    """The interpreter of the application, such as ``.venv/bin/python``; servers that it lacks are borrowed from
    Steelyard's own environment where both are of one version."""

    generator: str | None = None
    """The program that sends the requests: wrk, ab or oha. Default: the first of them that is installed."""

    workers: int = 1
    """Worker processes of each server; they share one CPU."""

    threads: int = 0
    """Threads of a worker; 0 leaves each server its own default."""

    sweep: bool = False
    """Weigh the servers named by ``--server`` with one worker up to one a CPU, each with the server's own number of
    threads and with 4, and beside them the 2 × CPUs + 1 workers that gunicorn's documentation advises."""

    headers: int = 8
    """Headers of a request; 8 are what a browser sends."""


def measure_servers(lab: Lab, application: str, load: Load, settings: Settings, output: Path | None) -> Session:
    """A session of every server that runs applications, with this one; raises UsageError if it can't be called."""
    module, _, name = application.partition(":")
    if not module or not name:
        raise UsageError(
            f'{application} is no application: write module:callable, such as "myproject.wsgi:application"'
        )
    settings.check()
    variant = _variant(application, load.path if load.path.startswith("/") else f"/{load.path}", load.python)
    cases = [msgspec.structs.replace(case, variant=variant.label) for case in _cases(lab, load)]
    alone, servers = cases[0], cases[1:]
    _try(lab, alone, variant)
    question = _question(alone, servers)
    if len(servers) > 1:  # one server alone is compared with nothing
        settings = enough_blocks(question, settings, len(servers) - 1, settings.planned_blocks or 0, lab.messages)
    groups = dict.fromkeys((case.name for case in cases), "servers")
    planner = Planner(question, settings, lab.messages)
    return lab.measure(lab.header(cases, settings, [variant]), output, settings, groups=groups, planner=planner)


def _question(alone: Case, servers: Sequence[Case]) -> Question:
    """Which server is the fastest: those that were fastest in the pilot are compared first."""

    def units(pilots: Mapping[str, Run]) -> list[tuple[str, ...]]:
        rates = {case.name: rate for case in servers if (rate := _rate(pilots.get(case.name)))}
        ranked = sorted(rates, key=lambda name: -rates[name])
        return [(alone.name, *ranked[:2]), *((name,) for name in ranked[2:])] if ranked else []

    return Question(
        one="comparison with the fastest server",
        many="comparisons with the fastest server",
        units=units,
        blocks=lambda comparisons: judging.blocks_to_decide(comparisons + 1),
    )


def _rate(run: Run | None) -> float:
    """Requests a nanosecond in the pilot; 0 where it came to nothing."""
    if run is None or run.status != "ok":
        return 0.0
    return statistics.median(value.operations / value.wall_ns if value.wall_ns else 0.0 for value in run.values)


def _cases(lab: Lab, load: Load) -> list[Case]:
    """The application alone, then each server with the numbers of workers and threads that it is weighed with."""
    common = {
        "application": [_OWN],
        "connections": [str(load.connections)],
        "headers": [str(load.headers)],
        **({"generator": [load.generator]} if load.generator else {}),
    }
    if load.sweep and not load.server:
        raise UsageError("--sweep goes with --server NAME: weigh all servers first, then sweep the best of them")
    ways = worker_sweep(len(lab.host.cpus)) if load.sweep else [(load.workers, load.threads)]
    chosen: dict[str, Case] = {}
    for probe in _probes(lab, load.server or []):
        found = [
            case
            for workers, threads in ways
            if (given := _params_of(lab, probe, {**common, "workers": [str(workers)], "threads": [str(threads)]}))
            for case in catalog.select(lab.found, [probe], given, [_where(lab, probe, workers if load.sweep else 1)])
        ]
        if not found:
            lab.messages.say(f"{probe} is left out: it cannot have the workers and threads that are asked for")
        chosen.update((case.name, case) for case in found)
    return list(chosen.values())


def _where(lab: Lab, probe: str, workers: int) -> Placement:
    """One CPU beside the generator's; all CPUs, which they share, for several workers of a sweep."""
    placements = lab.found.probes[probe].descriptor.placements
    return "free" if workers > 1 and "free" in placements else placements[0]


def worker_sweep(cpus: int) -> list[tuple[int, int]]:
    """Workers and threads of each way of a sweep; 0 threads are the server's own default."""
    counts = sorted({*(2**power for power in range(cpus.bit_length()) if 2**power <= cpus), cpus})
    ways = [(workers, threads) for workers in counts for threads in (0, _THREADS)]
    formula = judging.formula_workers(cpus)
    return ways if formula in counts else [*ways, (formula, 0)]


def _variant(application: str, path: str, python: str | None) -> Variant:
    """The application, where it is and what runs it, for the environment of each run."""
    environment = {
        "STEELYARD_WSGI_APPLICATION": application,
        "STEELYARD_WSGI_FOLDER": str(Path.cwd()),
        "STEELYARD_WSGI_PATH": path,
    }
    program = None
    if python is not None:
        found = interpreter(python, "--python")
        program = found.python
        if _abi(found.python) == _abi(sys.executable):
            environment["STEELYARD_REQUEST_BORROW"] = sysconfig.get_paths()["platlib"]
    return Variant(label=application, environment=environment, python=program)


def _abi(python: str | None) -> tuple[str, ...]:
    """What two interpreters must share to load the same extension modules: 3.11, and whether it is free-threaded."""
    version = catalog.find_interpreter(python or sys.executable).version
    return (*version.split(".")[:2], "t" if version.endswith("t") else "")


def _probes(lab: Lab, wanted: list[str]) -> list[str]:
    """The application alone, then all servers that run applications, or those that were named."""
    able = {
        way_of(name): name
        for name, probe in lab.found.probes.items()
        if (parameter := probe.descriptor.parameter("application")) and _OWN in parameter.choices
    }
    unknown = [name for name in wanted if name not in able]
    if unknown:
        raise UsageError(f"--server {unknown[0]}: no such server; there are {', '.join(sorted(able))}")
    alone = able.pop(judging.ALONE)
    return [alone, *(able[name] for name in sorted(able) if not wanted or name in wanted)]


def _params_of(lab: Lab, probe: str, params: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The parameters that this probe has; none where it cannot be what is asked."""
    descriptor = lab.found.probes[probe].descriptor
    given = {name: values for name, values in params.items() if descriptor.parameter(name) is not None}
    for name, values in given.items():
        parameter = descriptor.parameter(name)
        if parameter is not None and parameter.maximum is not None and int(values[0]) > parameter.maximum:
            return {}
    return given


def _try(lab: Lab, alone: Case, variant: Variant) -> None:
    """Call the application once; raises UsageError with the reason if it can't be: every server would fail."""
    probe = lab.found.probes[alone.probe]
    scratch = scratch_folder()
    try:
        outcome = ProcessRunner(catalog.native_folder() / "launch", lab.host.cpus, scratch).run(
            Request(
                case=alone,
                program=probe.path,
                interpreter=variant.python,
                environment=variant.environment,
                descriptor=probe.descriptor,
                values=1,
                operations=1,
                deadline_s=30.0,
            )
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if outcome.error is not None:
        reason = outcome.error.partition(f"{alone.probe}: ")[2] or outcome.error
        raise UsageError(f"{reason} (from {Path.cwd()}, by {variant.python or sys.executable}; see --python)")
