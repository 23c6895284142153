# SPDX-License-Identifier: Apache-2.0
"""Loads for simulated schedulers, what is asked of the simulator, and what its answers say.

A load is a file: TOML that describes tasks, or a recording of `steelyard observe --record`. The simulator itself is
`engines/schedsim`; `steelyard.lab.simulate` runs it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from steelyard.errors import LoadError, UsageError
from steelyard.records import Record, Summary
from steelyard.units import parse_duration

# What takes long to import (studies, numpy) is imported where it is needed: by then the simulator is at work.
if TYPE_CHECKING:
    from steelyard.judge.cases import CaseFinding
    from steelyard.judge.findings import Findings

#: What a load is simulated under where nothing else is said.
POLICIES = ("linux_2_0_30", "changed", "sorted", "o1", "cfs", "eevdf")
#: In place of a policy: the load is done for real, by this machine's kernel.
KERNEL = "kernel"
#: In place of a load: what this machine does now is recorded, and replayed.
HERE = "here"
#: A recalculated task costs so many times one that is looked at, in the benchmark of 1998 (637 over 526 ns): no
#: scheduler of today recalculates, so that none can be asked.
RECALCULATED_OVER_SEARCHED = 637 / 526
#: More contexts take the simulator seconds a point, and a machine's caches decide what they cost.
_MOST_CONTEXTS = 512
_CURVE = "switch/yield"
_FEWEST_POINTS = 4
#: So many times a quantile needs: ten are expected beyond it.
ENOUGH = {"p50": 20, "p90": 100, "p99": 1000, "p99_9": 10_000}
#: By which classes of tasks are compared, and a simulation is held against a kernel.
FIGURES = ("CPU time", *(f"{kind} {name}" for kind in ("wake-up", "response") for name in ("p50", "p90", "p99")))
_SHAPES = ("exponential", "uniform", "mixture")
_MOST_WEIGHT = 10_000
#: Of the model of a web site, in the simulator.
_LEAST_HOURS, _MOST_HOURS = 0.001, 1000

Request = dict[str, Any]


class Costs(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the work of a scheduler costs, in ns: a call, a task looked at, one recalculated, a change of task."""

    entry_ns: int = 0
    search_ns: int = 0
    recalculation_ns: int = 0
    change_ns: int = 0

    @property
    def nothing(self) -> bool:
        """Whether scheduling costs nothing."""
        return self == Costs()


class _Tasks(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tasks that are alike: how many, and what each does after it has run.

    Of this machine's kernel alone: ``policy`` of scheduling; ``weight`` of a control group of its own, where a group
    that nobody has given one has 100; ``autogroup``, the nice value of an autogroup of its own.
    """

    name: str
    count: int = 1
    nice: int = 0
    policy: Literal["other", "batch", "idle", "fifo", "rr", "ext"] = "other"
    weight: int | None = None
    autogroup: int | None = None
    run: str | dict[str, Any] | None = None
    pause: str | dict[str, Any] | None = None
    every: str | dict[str, Any] | None = None
    yields: bool = False
    forever: bool = False


class _Measured(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was measured of a load. ``figure``: as the simulator calls it. ``within``: how near a model comes."""

    figure: str
    mechanism: str
    within: float


class _Compared(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure of one class of tasks over that of another one. ``promised``: the ratio that the kernel documents."""

    figure: str
    of: str
    over: str
    promised: float | None = None


class Load(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A load as its file says it. ``cpus``: of the load; a run may name others. ``place``: its file, or its name.

    ``model``: tasks are described here; the others are models of schedsim's own. ``policies``: under which it is
    simulated where nobody asks for others. ``contexts``, ``others``: of the yielders. ``published``: by policy the
    published figures of a yield, with {contexts} for their number. ``measured``: figures of the load as it was.
    ``compared``: which classes of tasks are held against each other.
    """

    title: str
    model: Literal["tasks", "yield", "web_site", "recording"] = "tasks"
    cpus: int | None = None
    length: str | None = None
    seed: int = 1
    tasks: tuple[_Tasks, ...] = ()
    policies: tuple[str, ...] = POLICIES
    costs: Costs | None = None
    contexts: tuple[int, ...] = ()
    others: int = 0
    published: dict[str, str] = msgspec.field(default_factory=dict)
    measured: tuple[_Measured, ...] = ()
    compared: tuple[_Compared, ...] = ()
    place: str = ""
    recorded: Recorded | None = None


class Recorded(Record, frozen=True, kw_only=True):
    """What the head of a recording says: of the lives of tasks (2), or of the run queue alone (1)."""

    schedsim_trace: Literal[1, 2]
    cpus: int
    tasks: int
    started: str = ""
    by: str = "proc"
    length_ns: int = 0
    switches: int = 0
    involuntary: int | None = None
    lost: int = 0
    tick_ns: int = 0
    time_at_length_ns: tuple[int, ...] = ()

    @property
    def median_runnable(self) -> int | None:
        """The length that the run queue did not exceed during half of the time."""
        half, so_far = sum(self.time_at_length_ns) / 2, 0
        for length, time in enumerate(self.time_at_length_ns):
            so_far += time
            if so_far >= half > 0:
                return length
        return None


@cache
def library() -> Mapping[str, Load]:
    """The loads that come with the tool, by name."""
    there = resources.files("steelyard.judge.library") / "loads"
    files = sorted((file for file in there.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return {name: read(name, file.read_bytes()) for file in files for name in [file.name.removesuffix(".toml")]}


def read(place: str, contents: bytes) -> Load:
    """A load from the contents of its file. Raises LoadError with the place, the class of tasks and the key."""
    if contents.lstrip()[:1] == b"{":
        return _recording(place, contents.split(b"\n", 1)[0])
    try:
        load = msgspec.toml.decode(contents, type=Load)
    except msgspec.ValidationError as error:
        raise LoadError(f"{place}: {_plain(error)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LoadError(f"{place} is no TOML: {error}") from error
    load = msgspec.structs.replace(load, place=place)
    _check(load)
    return load


def _plain(error: msgspec.ValidationError) -> str:
    from steelyard.judge.studies import plain

    return plain(error)


def _recording(place: str, head: bytes) -> Load:
    try:
        recorded = msgspec.json.decode(head, type=Recorded)
    except msgspec.DecodeError as error:
        raise LoadError(
            f"{place} is no recording ({_plain(error) if isinstance(error, msgspec.ValidationError) else error}): "
            "`steelyard observe --record FILE` makes one"
        ) from error
    return Load(
        title=f"a recording of {recorded.started or place}",
        model="recording",
        cpus=recorded.cpus,
        policies=POLICIES,
        place=place,
        recorded=recorded,
    )


def _check(load: Load) -> None:
    """Raise LoadError for what no machine could do."""
    if load.model == "recording":
        raise LoadError(f"{load.place}: a recording is a file of its own: name it instead of a load")
    if load.cpus is not None and not 1 <= load.cpus <= 64:
        raise LoadError(f"{load.place}: cpus is from 1 to 64, not {load.cpus}")
    if load.model == "yield":
        if not load.contexts or min(load.contexts) < 1 or max(load.contexts) > 4096:
            raise LoadError(f"{load.place}: contexts is a list of numbers from 1 to 4096, such as [2, 40]")
        return
    if load.model == "tasks" and not load.tasks:
        raise LoadError(f"{load.place}: it has no [[tasks]]: say what runs")
    names = [one.name for one in load.tasks]
    for name in names:
        if names.count(name) > 1:
            raise LoadError(f"{load.place}: two classes of tasks are called {name!r}: give each a name of its own")
    length_ns(load)
    for one in load.tasks:
        _class(load, one)
    for each in load.compared:
        if each.figure not in FIGURES:
            raise LoadError(f"{load.place}: compared: figure is one of {', '.join(FIGURES)}, not {each.figure!r}")
        for name in (each.of, each.over):
            if name not in names:
                raise LoadError(
                    f"{load.place}: compared: there is no class of tasks {name!r}: take one of {', '.join(names)}"
                )
    _refuse_overload(load)


def _refuse_overload(load: Load) -> None:
    """Requests that need more than all CPUs together would be waited for ever longer: no latency means anything."""
    needed = 0.0
    for one in load.tasks:
        asked = _class(load, one)
        if asked["then"] == "request":
            needed += _mean_ns(asked["run"]) / _mean_ns(asked["pause"])
    cpus = load.cpus or 1
    if needed > cpus:
        raise LoadError(
            f"{load.place}: its requests need {needed:.2f} CPUs and it has {cpus}: let them come less often (`every`), "
            "or give it more `cpus`"
        )


def length_ns(load: Load) -> int:
    """How long the load lasts."""
    try:
        return round(parse_duration(load.length or "60s") * 1e9)
    except UsageError as error:
        raise LoadError(f"{load.place}: length: {error}") from error


def _class(load: Load, one: _Tasks) -> Request:
    """A class of tasks as the simulator is asked for it."""
    where = f"{load.place}: tasks {one.name!r}"
    if not 1 <= one.count <= 65536:
        raise LoadError(f"{where}: count is from 1 to 65536, not {one.count}")
    for name, nice in (("nice", one.nice), ("autogroup", one.autogroup or 0)):
        if not -20 <= nice <= 19:
            raise LoadError(f"{where}: {name} is from -20 to 19, not {nice}")
    if one.weight is not None and not 1 <= one.weight <= _MOST_WEIGHT:
        raise LoadError(f"{where}: weight is from 1 to {_MOST_WEIGHT}, not {one.weight}")
    ways = {"pause": one.pause, "every": one.every, "yields": one.yields, "forever": one.forever}
    chosen = [name for name, given in ways.items() if given]
    if len(chosen) != 1:
        raise LoadError(
            f"{where}: one of pause, every, yields and forever says what follows a run, and here "
            f"{' and '.join(chosen) + ' do' if chosen else 'none does'}"
        )
    then = {"pause": "pause", "every": "request", "yields": "yield", "forever": "forever"}[chosen[0]]
    asked: Request = {"name": one.name, "count": one.count, "nice": one.nice, "policy": one.policy, "then": then}
    grouped = {"weight": one.weight, "autogroup": one.autogroup}
    asked |= {name: value for name, value in grouped.items() if value is not None}
    if one.run is None and then != "forever":
        raise LoadError(f"{where}: run is missing: how long does a task run before that?")
    if one.run is not None and then == "forever":
        raise LoadError(f"{where}: a task that runs for ever has no run: leave run away, or say what follows it")
    if one.run is not None:
        asked["run"] = _times(f"{where}: run", one.run)
    if then in ("pause", "request"):
        asked["pause"] = _times(f"{where}: {chosen[0]}", ways[chosen[0]])
    if then in ("pause", "request") and _mean_ns(asked["pause"]) + (then == "pause") * _mean_ns(asked["run"]) == 0:
        raise LoadError(f"{where}: it takes no time at all: give {chosen[0]} a time above zero")
    return asked


def _times(where: str, given: Any) -> Request:
    """A distribution: a time, or a table of one of the shapes."""
    if isinstance(given, str):
        return {"constant": _time_ns(where, given)}
    if not isinstance(given, dict) or len(given) != 1 or next(iter(given)) not in _SHAPES:
        raise LoadError(f'{where} is a time such as "2ms", or a table with one of {", ".join(_SHAPES)}')
    [(shape, value)] = given.items()
    if shape == "exponential" and isinstance(value, str):
        return {shape: max(1, _time_ns(where, value))}
    if shape == "uniform" and isinstance(value, list) and len(value) == 2:
        least, most = (_time_ns(where, str(one)) for one in value)
        if least > most:
            raise LoadError(f"{where}: uniform begins with the shorter time")
        return {shape: [least, most]}
    if shape == "mixture" and isinstance(value, list) and len(value) == 3 and isinstance(value[0], int | float):
        if not 0 <= value[0] <= 1:
            raise LoadError(f"{where}: mixture begins with a share from 0 to 1, that of the second mean")
        return {shape: [value[0], *(max(1, _time_ns(where, str(one))) for one in value[1:])]}
    forms = {"exponential": '"2ms"', "uniform": '["1ms", "3ms"]', "mixture": '[0.02, "1ms", "50ms"]'}
    raise LoadError(f"{where}: {shape} is given as {forms[shape]}")


def _time_ns(where: str, text: str) -> int:
    if re.fullmatch(r"0[a-z]*", text):
        return 0
    try:
        return round(parse_duration(text) * 1e9)
    except UsageError as error:
        raise LoadError(f"{where}: {error}") from error


def _mean_ns(times: Request) -> float:
    [(shape, value)] = times.items()
    match shape:
        case "uniform":
            return float(value[0] + value[1]) / 2
        case "mixture":
            return float((1 - value[0]) * value[1] + value[0] * value[2])
        case _:
            return float(value)


# --- what is asked ----------------------------------------------------------------------------------------------------


class Way(Record, frozen=True, kw_only=True):
    """How a load is simulated: the CPUs and the length if not the load's own, and the costs.

    ``tick_ns``: between two interrupts of the timer, of policies that may have any: this machine's, for loads of tasks.
    A recording has its own, and models of machines of then have what is usual.
    """

    costs: Costs
    cpus: int | None = None
    length_ns: int | None = None
    tick_ns: int = 0


def requests(load: Load, policy: str, way: Way, seed: int) -> list[Request]:
    """What the simulator is asked about a load under a policy: one request, of yielders one for each number."""
    costs = msgspec.to_builtins(way.costs)
    cpus = way.cpus or load.cpus or 1
    common: Request = {"policy": policy, "cpus": cpus, "costs": costs}
    match load.model:
        case "yield":
            return [
                {"do": "yield", **common, "contexts": contexts, "others": load.others} for contexts in load.contexts
            ]
        case "recording":
            return [{"do": "replay", **common, "trace": load.place}]
        case "web_site":
            hours = (way.length_ns or length_ns(load)) / 3600e9
            if not _LEAST_HOURS <= hours <= _MOST_HOURS:
                raise UsageError(f"{load.place} lasts from {3600 * _LEAST_HOURS:g}s to {_MOST_HOURS}h: change --length")
            return [{"do": "web_site", **common, "hours": hours, "seed": seed}]
    return [
        {
            "do": "tasks", **common, "seed": seed, "tick_ns": way.tick_ns,
            "length_ns": way.length_ns or length_ns(load), "tasks": [_class(load, one) for one in load.tasks],
        }
    ]  # fmt: skip


def live_request(load: Load, way: Way, seed: int) -> Request:
    """What the program is asked that does a load for real. Raises UsageError where only a simulation can."""
    if load.model != "tasks":
        raise UsageError(f"only a load of [[tasks]] can be done for real: leave {KERNEL} out of --policy")
    [asked] = requests(load, KERNEL, way, seed)
    return {name: asked[name] for name in ("do", "cpus", "seed", "length_ns", "tasks")}


def refuse_what_a_kernel_has(load: Load, policies: Sequence[str]) -> None:
    """Raise UsageError where tasks of another scheduling class or of a group of their own would be simulated."""
    other = [
        one.name for one in load.tasks if one.policy != "other" or one.weight is not None or one.autogroup is not None
    ]
    if other and set(policies) != {KERNEL}:
        raise UsageError(
            f"{', '.join(other)}: the simulated schedulers have no scheduling classes and no groups of tasks: take "
            f"--policy {KERNEL} alone"
        )


# --- what is answered -------------------------------------------------------------------------------------------------


class Quantiles(Record, frozen=True, kw_only=True):
    """Times of one kind, in nanoseconds."""

    count: int
    mean_ns: float
    p50_ns: float
    p90_ns: float
    p99_ns: float
    p99_9_ns: float
    longest_ns: float


class ClassSeen(Record, frozen=True, kw_only=True):
    """What tasks that are alike had. ``busy_share``: of one CPU. ``fairness``: Jain's index among them.

    ``wake_up``: from being woken until running. ``response``: from being due until a run is done.
    """

    name: str
    tasks: int
    busy_share: float
    fairness: float
    wake_up: Quantiles
    response: Quantiles


class Choices(Record, frozen=True, kw_only=True):
    """Choices of a task among ``least`` to ``most`` that could run: how many there were, and what one took."""

    least: int
    most: int
    count: int
    mean_ns: float


class Seen(Record, frozen=True, kw_only=True):
    """A load under one policy; None is what a real kernel does not say of one load alone."""

    policy: str
    seconds: float
    cpus: int
    busy_share: float
    voluntary_per_s: float
    involuntary_per_s: float
    switches_per_s: float | None = None
    overhead_share: float | None = None
    recalculations: int | None = None
    median_runnable: int | None = None
    p99_runnable: int | None = None
    longest: int | None = None
    longest_wait_s: float | None = None
    choices: tuple[Choices, ...] = ()
    classes: tuple[ClassSeen, ...] = ()

    def share_of(self, name: str) -> ClassSeen | None:
        """The class of this name."""
        return next((one for one in self.classes if one.name == name), None)


def seen(answer: Request) -> Seen:
    """An answer of the simulator, or of the program that does a load for real."""
    seconds = answer["time_ns"] / 1e9
    classes = tuple(
        msgspec.convert({**one, "busy_share": one["busy_ns"] / answer["time_ns"]}, ClassSeen)
        for one in answer.get("classes", ())
        if one["tasks"]
    )
    return Seen(
        policy=answer["policy"],
        seconds=seconds,
        cpus=answer.get("cpus", 1),
        busy_share=answer["busy_share"],
        voluntary_per_s=answer["voluntary"] / seconds,
        involuntary_per_s=answer["involuntary"] / seconds,
        switches_per_s=answer.get("switches_per_s"),
        overhead_share=answer.get("overhead_share"),
        recalculations=answer.get("recalculations"),
        median_runnable=answer.get("median_runnable"),
        p99_runnable=answer.get("p99_runnable"),
        longest=answer.get("longest"),
        longest_wait_s=answer["longest_wait_ns"] / 1e9 if "longest_wait_ns" in answer else None,
        choices=msgspec.convert(answer.get("choices", ()), tuple[Choices, ...]),
        classes=classes,
    )


class YieldSeen(Record, frozen=True, kw_only=True):
    """One yield among so many contexts, in seconds, and the share of the yields that switch.

    ``published_s``: what was measured of it then, if it was.
    """

    policy: str
    contexts: int
    yield_s: float
    published_s: float | None = None
    switched_fraction: float
    recalculations_per_yield: float


class Against(Record, frozen=True, kw_only=True):
    """A figure as it is simulated over what this machine's kernel did, run by run, with its interval."""

    policy: str
    figure: str
    ratio: Summary


class Compared(Record, frozen=True, kw_only=True):
    """A figure of one class of tasks over that of another one, run by run, and what the kernel documents of it."""

    policy: str
    figure: str
    of: str
    over: str
    ratio: Summary
    promised: float | None = None


class Held(Record, frozen=True, kw_only=True):
    """A figure that was measured of a load, and what each policy gives. ``within``: how near the load's model comes."""

    mechanism: str
    unit: str
    measured: float
    within: float
    simulated: Mapping[str, float]


class Simulated(Record, frozen=True, kw_only=True):
    """A load under several policies. ``runs``: of each policy, in the order of ``seeds``; the first one is shown.

    ``machine``: whose kernel did the load for real. ``costs_from``: in words where the costs are from. ``left_out``:
    what was asked for and could not be done.
    """

    load: str
    title: str
    costs: Costs
    costs_from: str
    fitted: Fitted | None = None
    titles: Mapping[str, str]
    seeds: tuple[int, ...]
    tick_ns: int = 0
    machine: str = ""
    runs: Mapping[str, tuple[Seen, ...]] = {}
    yields: tuple[YieldSeen, ...] = ()
    recorded: Recorded | None = None
    held: tuple[Held, ...] = ()
    against: tuple[Against, ...] = ()
    compared: tuple[Compared, ...] = ()
    left_out: tuple[str, ...] = ()


class Point(Record, frozen=True, kw_only=True):
    """A yield among so many contexts: measured, and by the costs that were fitted."""

    contexts: int
    measured_s: float
    simulated_s: float


class Fitted(Record, frozen=True, kw_only=True):
    """How well a policy's costs give a measured curve. Shares: 0.1 is a tenth too high or too low.

    ``worst``: of the points that the costs are fitted to. ``worst_predicted``: of every second point, by costs that are
    fitted to the others.
    """

    session: str
    policy: str
    kernel: str
    points: tuple[Point, ...]
    worst: float
    worst_predicted: float


def policy_of_kernel(release: str) -> str:
    """The simulated policy that the ordinary tasks of a Linux have, by its release such as ``6.18.4-generic``."""
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", release)
    version = tuple(int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    if version >= (6, 6, 0):
        return "eevdf"
    if version >= (2, 6, 23):
        return "cfs"
    return "linux_2_6_o1" if version >= (2, 6, 0) else "linux_2_0_30"


def curve(findings: Findings) -> list[tuple[int, float]]:
    """(contexts, seconds of a yield among so many processes on one CPU), rising. Raises UsageError for too few."""
    if findings.void:
        raise UsageError(f"{findings.path} is void: take costs from another session; `steelyard show` says why it is")
    points = sorted(
        (int(case.parameters["contexts"]), value)
        for case in findings.cases
        if case.probe == _CURVE and case.placement == "same" and case.parameters.get("kind") == "process"
        if (value := _yield_s(case)) is not None and int(case.parameters["contexts"]) <= _MOST_CONTEXTS
    )
    if len(points) < _FEWEST_POINTS:
        raise UsageError(
            f"{findings.path} has {len(points)} points of {_CURVE} by contexts, and costs need {_FEWEST_POINTS}: "
            f"`steelyard run {_CURVE} -p kind=process` measures them"
        )
    return points


def _yield_s(case: CaseFinding) -> float | None:
    return case.main.median if case.main.unit == "s" and case.main.median > 0 else None


def to_calibrate(points: Sequence[tuple[int, float]], policy: str) -> list[Request]:
    """Two requests: the costs by all points; and by every second one, which tells how well the others are predicted."""

    def request(fitted: set[int]) -> Request:
        return {
            "do": "calibrate",
            "points": [
                {"policy": policy, "contexts": contexts, "ns": 1e9 * s, "fitted": number in fitted}
                for number, (contexts, s) in enumerate(points)
            ],
        }

    every = set(range(len(points)))
    return [request(every), request({number for number in every if number % 2 == 0 or number == len(points) - 1})]


def calibrated(findings: Findings, kernel: str, policy: str, answers: Sequence[Request]) -> tuple[Costs, Fitted]:
    """The costs that the simulator found for a curve, and how well they give it."""
    whole, half = answers
    costs = msgspec.convert(whole["costs"], Costs)
    if policy in ("cfs", "eevdf"):
        recalculation = round(costs.search_ns * RECALCULATED_OVER_SEARCHED)
        costs = msgspec.structs.replace(costs, recalculation_ns=recalculation)
    return costs, Fitted(
        session=findings.path,
        policy=policy,
        kernel=kernel,
        points=tuple(
            Point(contexts=one["contexts"], measured_s=one["ns"] / 1e9, simulated_s=one["simulated_ns"] / 1e9)
            for one in whole["points"]
        ),
        worst=whole["worst_fitted"],
        worst_predicted=half["worst_predicted"],
    )


@cache
def published() -> Mapping[str, tuple[float, str]]:
    """Value and unit of every published figure, by its mechanism."""
    from steelyard.judge.studies import library as studies

    return {one.figure.mechanism: (one.figure.value, one.figure.unit) for one in studies().figures}


def published_yield(load: Load, policy: str, contexts: int) -> float | None:
    """What was measured of a yield among so many contexts, in seconds, where somebody did."""
    mechanism = load.published.get(policy, "").replace("{contexts}", str(contexts))
    value, _ = published().get(mechanism, (None, ""))
    return value


def held(load: Load, answers: Mapping[str, Request]) -> tuple[Held, ...]:
    """What was measured of a load beside what each policy gives, as the simulator answers."""
    known = published()
    return tuple(
        Held(
            mechanism=one.mechanism,
            unit=known[one.mechanism][1],
            measured=known[one.mechanism][0],
            within=one.within,
            simulated={policy: answer[one.figure] for policy, answer in answers.items()},
        )
        for one in load.measured
    )


# --- several runs, and the kernel -------------------------------------------------------------------------------------


def figures(one: Seen) -> dict[str, float]:
    """The figures by which a simulation is held against a kernel: shares and latencies by class."""
    found = {"involuntary switches a second": one.involuntary_per_s, "switches by sleep a second": one.voluntary_per_s}
    return found | {f"{each.name}: {name}": value for each in one.classes for name, value in _of_class(each).items()}


def _of_class(one: ClassSeen) -> dict[str, float]:
    """Those of FIGURES that the class has."""
    found = {"CPU time": one.busy_share}
    for kind, times in (("wake-up", one.wake_up), ("response", one.response)):
        known = {"p50": times.p50_ns, "p90": times.p90_ns, "p99": times.p99_ns}
        found |= {f"{kind} {name}": value for name, value in known.items() if times.count >= ENOUGH[name]}
    return found


def compared(load: Load, runs: Mapping[str, Sequence[Seen]]) -> tuple[Compared, ...]:
    """The classes of the load that are held against each other, under every policy: ratios within each run."""
    from steelyard.judge.stats.summary import summarise

    found = []
    for one in load.compared:
        for policy, seen in runs.items():
            by_name = [{each.name: _of_class(each) for each in run.classes} for run in seen]
            pairs = [(run.get(one.of, {}).get(one.figure), run.get(one.over, {}).get(one.figure)) for run in by_name]
            ratios = [a / b for a, b in pairs if a is not None and b]
            if len(ratios) == len(seen):
                found.append(
                    Compared(
                        policy=policy,
                        figure=one.figure,
                        of=one.of,
                        over=one.over,
                        ratio=summarise(ratios),
                        promised=one.promised,
                    )
                )
    return tuple(found)


def held_against(runs: Mapping[str, Sequence[Seen]]) -> tuple[Against, ...]:
    """Every simulated policy over the kernel, figure by figure: ratios of the runs of one seed."""
    if KERNEL not in runs:
        return ()
    from steelyard.judge.stats.summary import summarise

    real = [figures(one) for one in runs[KERNEL]]
    found = []
    for policy, simulated in runs.items():
        if policy == KERNEL:
            continue
        ours = [figures(one) for one in simulated]
        for name in real[0]:
            pairs = [(a.get(name, 0.0), b.get(name, 0.0)) for a, b in zip(ours, real, strict=True)]
            ratios = [a / b for a, b in pairs if b > 0 and math.isfinite(a / b)]
            if len(ratios) == len(real):
                found.append(Against(policy=policy, figure=name, ratio=summarise(ratios)))
    return tuple(found)
