# SPDX-License-Identifier: Apache-2.0
"""The session that weighs WSGI servers with an application of one's own."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import msgspec

from steelyard.errors import UsageError
from steelyard.judge import servers as judging
from steelyard.lab.session import Lab, interpreter
from steelyard.measure import catalog
from steelyard.measure.runner import ProcessRunner, Request, scratch_folder
from steelyard.records import Case, Session, Variant
from steelyard.settings import Settings

_OWN = "own"


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
    params = {
        "application": [_OWN],
        "connections": [str(load.connections)],
        "workers": [str(load.workers)],
        "threads": [str(load.threads)],
        "headers": [str(load.headers)],
        **({"generator": [load.generator]} if load.generator else {}),
    }
    cases = [
        msgspec.structs.replace(case, variant=variant.label)
        for probe in _probes(lab, load.server or [])
        if (given := _params_of(lab, probe, params)) is not None
        for case in catalog.select(lab.found, [probe], given, [lab.found.probes[probe].descriptor.placements[0]])
    ]
    _try(lab, cases[0], variant)
    groups = dict.fromkeys((case.name for case in cases), "servers")
    return lab.measure(lab.header(cases, settings, [variant]), output, settings, groups=groups)


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
        name.partition("/")[2]: name
        for name, probe in lab.found.probes.items()
        if (parameter := probe.descriptor.parameter("application")) and _OWN in parameter.choices
    }
    unknown = [name for name in wanted if name not in able]
    if unknown:
        raise UsageError(f"--server {unknown[0]}: no such server; there are {', '.join(sorted(able))}")
    alone = able.pop(judging.ALONE)
    return [alone, *(able[name] for name in sorted(able) if not wanted or name in wanted)]


def _params_of(lab: Lab, probe: str, params: dict[str, list[str]]) -> dict[str, list[str]] | None:
    """The parameters that this probe has; None, and a word, where it cannot be what is asked."""
    given = {}
    for name, values in params.items():
        parameter = lab.found.probes[probe].descriptor.parameter(name)
        if parameter is not None:
            if parameter.maximum is not None and int(values[0]) > parameter.maximum:
                lab.messages.say(f"{probe} is left out: it has {parameter.maximum} {name} at most")
                return None
            given[name] = values
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
