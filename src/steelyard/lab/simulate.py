# SPDX-License-Identifier: Apache-2.0
"""Loads under simulated schedulers, and for real: asks the programs of engines/schedsim."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from steelyard.errors import InstallationError, LoadError, SessionFileError, SteelyardError, UsageError
from steelyard.judge import simulation
from steelyard.judge.simulation import HERE, KERNEL, Costs, Fitted, Load, Request, Seen, Simulated, Way
from steelyard.keep import session as sessions
from steelyard.lab.output import for_a_command
from steelyard.measure import catalog, machine
from steelyard.measure import observe as live
from steelyard.measure.recording import tick_ns
from steelyard.records import Record

if TYPE_CHECKING:
    from steelyard.judge.findings import Findings

#: In place of policies: every one that can be simulated.
ALL = "all"
_RECORDED_S = 60.0
#: Between two looks at the run queue, where the kernel's tracepoints may not be read.
_LOOK_S = 0.01


class Policy(Record, frozen=True, kw_only=True):
    """A policy as the simulator says it."""

    name: str
    alias: str
    title: str
    source: str
    tick_ns: int
    any_tick: bool = False


def _program(name: str) -> Path:
    found = catalog.native_folder() / "engines" / name
    if not found.exists():
        raise InstallationError(f"{name} was not built: install a C++ compiler (Debian: g++) and run `make build`")
    return found


def ask(*requests: Request) -> list[Request]:
    """The answers of the simulator, in the order of the requests. Raises LoadError with what it says is wrong."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([_program("schedsim")], input=lines, capture_output=True, text=True, check=False)
    answers: list[Request] = [json.loads(line) for line in done.stdout.splitlines()]
    for answer in answers:
        if "error" in answer:
            raise LoadError(f"the simulator says: {answer['error']}")
    if len(answers) != len(requests):
        raise SteelyardError(
            f"the simulator ended with {done.returncode} before it had answered: {done.stderr.strip()}"
        )
    return answers


def policies() -> list[Policy]:
    """Every policy that can be simulated."""
    [answer] = ask({"do": "policies"})
    return msgspec.convert(answer["policies"], list[Policy])


def find_load(name: str) -> Load:
    """A load of the library by its name, or a file. Raises LoadError."""
    if name in simulation.library():
        return simulation.library()[name]
    path = Path(name)
    try:
        # Of a recording, which may be large, the first line is enough here.
        with path.open("rb") as file:
            head = file.readline()
            contents = head if head.lstrip()[:1] == b"{" else head + file.read()
    except OSError as error:
        known = ", ".join(simulation.library())
        raise LoadError(f"{name} cannot be read ({error.strerror}), and is no load of the library: {known}") from error
    return simulation.read(str(path), contents)


def record(folder: Path, given: str | None, length_ns: int | None) -> Load:
    """What this machine does from now on, for a minute or so long, as a load whose recording stands in ``folder``.

    ``given``: the policies that will be asked for; what they cannot be is said before. Raises UsageError.
    """
    if KERNEL in names_of(given, Load(title=HERE)):
        raise UsageError(f"what this machine did cannot be done again by its {KERNEL}: leave {KERNEL} out of --policy")
    path = folder / f"{HERE}.jsonl"
    live.observe(
        seconds=_RECORDED_S if length_ns is None else length_ns / 1e9,
        every_s=_LOOK_S,
        command=(),
        trace=path,
        machine_key=machine.survey().key,
        words=for_a_command(beside_data=True),
    )
    return find_load(str(path))


def names_of(given: str | None, load: Load) -> list[str]:
    """The policies of a list with commas, by their own names; the load's own where none is given. Raises UsageError."""
    known = {name: one.name for one in policies() for name in (one.name, one.alias) if name} | {KERNEL: KERNEL}
    names = [name for name in given.split(",") if name] if given is not None else list(load.policies)
    if names == [ALL]:
        names = [one.name for one in policies()]
    for name in names:
        if name not in known:
            shorter = ", ".join(one.alias or one.name for one in policies())
            raise UsageError(f"there is no policy {name!r}: take some of {shorter}, {KERNEL}, or {ALL}")
    if not names:
        raise UsageError("--policy names none: write some with commas between, such as linux_2_0_30,eevdf")
    return list(dict.fromkeys(known[name] for name in names))


def _measured(path: Path | None) -> Findings | None:
    """The session that was named, or else the newest one if there is one."""
    from steelyard.judge.findings import judge

    if path is not None:
        return judge(sessions.read(path))
    try:
        return judge(sessions.read(sessions.latest()))
    except SessionFileError:
        return None


def costs_of(session: Path | None, load: Load) -> tuple[Costs, str, Fitted | None]:
    """What scheduling costs: by the session that was named, else as the load says, else by the newest session.

    With it in words where that is from. Raises UsageError if the session that was named has no curve.
    """
    if session is None and load.costs is not None:
        return load.costs, f"the costs that {load.place} says", None
    findings = _measured(session)
    nothing = "no costs: `--costs SESSION` takes them from a session with `switch/yield`"
    if findings is None:
        return Costs(), nothing, None
    try:
        points = simulation.curve(findings)
    except UsageError:
        if session is not None:
            raise
        return Costs(), nothing, None
    kernel = findings.environment.get("kernel", "")
    policy = simulation.policy_of_kernel(kernel)
    costs, fitted = simulation.calibrated(findings, kernel, policy, ask(*simulation.to_calibrate(points, policy)))
    return costs, f"costs fitted to {findings.path}", fitted


def _for_real(load: Load, way: Way, seed: int) -> Seen | str:
    """The load by this machine's kernel, or why it can't be."""
    request = json.dumps(simulation.live_request(load, way, seed))
    done = subprocess.run([_program("schedsim_live")], input=request, capture_output=True, text=True, check=False)
    try:
        answer: Request = json.loads(done.stdout)
    except json.JSONDecodeError:
        return f"the program ended with {done.returncode}"
    return str(answer["error"]) if "error" in answer else simulation.seen(answer)


def simulate(
    load: Load,
    given: str | None = None,
    *,
    session: Path | None = None,
    cpus: int | None = None,
    length_ns: int | None = None,
    seed: int | None = None,
    runs: int = 1,
) -> Simulated:
    """A load under each policy, ``runs`` times with a seed each; all policies and the kernel have the same seeds."""
    names = names_of(given, load)
    simulation.refuse_what_a_kernel_has(load, names)
    if load.model == "yield" and KERNEL in names:
        raise UsageError(f"the kernel's yields are measured by `steelyard run switch/yield`: leave {KERNEL} out")
    first = load.seed if seed is None else seed
    # A recording and the yielders have no chance in them: all runs would be the same.
    seeds = tuple(range(first, first + (runs if load.model in ("tasks", "web_site") else 1)))
    costs, words, fitted = costs_of(session, load)
    way = Way(costs=costs, cpus=cpus, length_ns=length_ns, tick_ns=(tick_ns() or 0) if load.model == "tasks" else 0)
    known = {one.name: one for one in policies()}
    titles = {name: known[name].title for name in names if name in known}
    asked = [[one for each in seeds for one in simulation.requests(load, name, way, each)] for name in titles]
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:  # each waits for a simulator
        said = pool.map(lambda requests: ask(*requests), asked)
        if load.measured or load.published:
            simulation.published()  # read meanwhile
        answers = dict(zip(titles, said, strict=True))
    told = Simulated(
        load=load.place,
        title=load.title,
        costs=costs,
        costs_from=words,
        fitted=fitted,
        titles=titles,
        seeds=seeds,
        tick_ns=way.tick_ns,
        recorded=load.recorded,
    )
    if load.model == "yield":
        return msgspec.structs.replace(told, yields=_yields(load, answers))
    if length_ns is None and seed is None:
        first_ones = {name: said[0] for name, said in answers.items()}
        told = msgspec.structs.replace(told, held=simulation.held(load, first_ones))
    found = {name: tuple(simulation.seen(answer) for answer in said) for name, said in answers.items()}
    left_out: list[str] = []
    if KERNEL in names:
        real = [_for_real(load, way, each) for each in seeds]
        done = tuple(one for one in real if isinstance(one, Seen))
        if len(done) == len(real):
            found[KERNEL] = done
            told = msgspec.structs.replace(told, machine=_this_machine())
        else:
            left_out.append(f"{KERNEL}: {next(one for one in real if isinstance(one, str))}")
    return msgspec.structs.replace(
        told,
        runs=found,
        against=simulation.held_against(found),
        compared=simulation.compared(load, found),
        left_out=tuple(left_out),
    )


def _this_machine() -> str:
    here = machine.survey()
    return f"Linux {here.environment['kernel']} on {here.facts['cpu']}"


def _yields(load: Load, answers: Mapping[str, Sequence[Request]]) -> tuple[simulation.YieldSeen, ...]:
    return tuple(
        simulation.YieldSeen(
            policy=name,
            contexts=one["contexts"],
            yield_s=one["yield_ns"] / 1e9,
            published_s=simulation.published_yield(load, name, one["contexts"]),
            switched_fraction=one["switched_fraction"],
            recalculations_per_yield=one["recalculations_per_yield"],
        )
        for name, said in answers.items()
        for one in said
    )
