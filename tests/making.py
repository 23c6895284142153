# SPDX-License-Identifier: Apache-2.0
"""Small builders of records: every argument has a harmless default, so that a test says only what it is about."""

from __future__ import annotations

import msgspec

from steelyard.measure import conduct
from steelyard.measure.runner import MockRunner, Outcome, Request, Runner
from steelyard.records import (
    Case,
    Counter,
    Counters,
    Descriptor,
    Header,
    Line,
    Machine,
    Metric,
    Parameter,
    Plan,
    PlannedCase,
    ProbeFacts,
    Run,
    Session,
    Value,
)

NULL_CASE = Case(probe="null/null", placement="same", parameters={"delay_percent": 0, "copy": 0})


def a_metric(name: str = "operation", **more: object) -> Metric:
    """Seconds an operation, unless told otherwise."""
    fields = {"unit": "s", "better": "lower", "over": "wall", "per": "operations", "doc": "time of one operation"}
    return Metric(name=name, **{**fields, **more})


def an_integer(name: str, *sweep: int, **more: object) -> Parameter:
    """A parameter of whole numbers, without a unit unless told otherwise."""
    fields = {"doc": f"the {name}", "unit": "1", "sweep": sweep or (1,), "minimum": 0, "maximum": 1000}
    return Parameter(name=name, type="integer", **{**fields, **more})


def a_choice(name: str, *choices: str) -> Parameter:
    """A parameter of words, all of them swept."""
    return Parameter(name=name, type="choice", doc=f"the {name}", choices=choices, sweep=choices)


def a_descriptor(probe: str = "example/steady", **more: object) -> Descriptor:
    """A probe of one metric, without parameters, on one CPU."""
    fields = {
        "protocol": 1,
        "probe": probe,
        "question": "What does an example cost?",
        "operation": "one example",
        "source": "made up",
        "statistic": "median",
        "placements": ("same",),
        "uses": ("cpu",),
        "metrics": (a_metric(),),
    }
    return Descriptor(**{**fields, **more})


NULL = a_descriptor(
    "null/null",
    statistic="lower_quartile",
    parameters=(an_integer("delay_percent", 0), an_integer("copy", 0, maximum=1)),
)


def a_case(probe: str = "example/steady", placement: str = "same", **parameters: int | str) -> Case:
    """A case; the keywords are its parameters."""
    return Case(probe=probe, placement=placement, parameters=parameters)


def a_value(seconds: float = 1e-6, operations: int = 1000, **more: object) -> Value:
    """A batch in which one operation took so many seconds."""
    fields = {"wall_ns": round(seconds * operations * 1e9), "counts": {"checked": operations}}
    return Value(operations=operations, **{**fields, **more})


def counted(operations: int = 500, share: float = 1.0, **counts: int) -> Counters:
    """What a processor counted in a batch; ``share`` of the time in which it should have."""
    return Counters(
        operations=operations,
        events={name: Counter(count, 1_000_000, round(1_000_000 * share)) for name, count in counts.items()},
    )


def a_run(case: Case | str = "example/steady@same", block: int = 1, *seconds: float, **more: object) -> Run:
    """A run of a block, with one value for each of ``seconds``."""
    fields = {
        "role": "block",
        "order": 0,
        "attempt": 1,
        "started": 0.0,
        "wall_s": 0.01,
        "status": "ok",
        "operations": 1000,
        "values": tuple(a_value(second) for second in seconds or (1e-6,)),
    }
    return Run(case=case if isinstance(case, str) else case.name, block=block, **{**fields, **more})


def a_run_each(case: Case, *seconds: float) -> list[Run]:
    """A run of one value in each block from the first."""
    return [a_run(case, block, second) for block, second in enumerate(seconds, start=1)]


def a_failed_run(case: Case | str, block: int = 1, error: str = "exited with code 1", **more: object) -> Run:
    """A run that came to nothing."""
    return msgspec.structs.replace(a_run(case, block), status="failed", error=error, values=(), operations=0, **more)


def a_planned(case: Case, **more: object) -> PlannedCase:
    """A case after its pilot."""
    fields = {"operations": 1000, "values": 3, "run_s": 0.01}
    return PlannedCase(case=case, **{**fields, **more})


def a_machine(**more: object) -> Machine:
    """A machine of two CPUs that never existed."""
    fields = {
        "key": "0123456789ab",
        "facts": {"cpu": "Example CPU", "logical cpus": "2", "memory": "8 GiB", "hypervisor": "no"},
        "environment": {"kernel": "6.0-example"},
        "cpus": (0, 1),
    }
    return Machine(**{**fields, **more})


def a_header(*selection: Case, probes: tuple[Descriptor, ...] = (), **more: object) -> Header:
    """The header of a session over these cases. Probes that are not described are the default descriptor."""
    described = {descriptor.probe: descriptor for descriptor in (NULL, *probes)}
    for case in selection:
        described.setdefault(case.probe, a_descriptor(case.probe))
    fields = {
        "schema": 1,
        "id": "0000000000000000",
        "started": "2026-01-02T03:04:05+00:00",
        "seed": 7,
        "machine": a_machine(),
        "versions": {"steelyard": "0"},
        "command": ("run",),
        "selection": selection,
        "controls": (),
        "probes": {name: ProbeFacts(descriptor=facts, sha256="00") for name, facts in described.items()},
        "blocks": 2,
        "budget_s": None,
        "target_ns": 1_000_000,
        "values": 3,
    }
    return Header(**{**fields, **more})


def a_session(*lines: Line, header: Header | None = None, path: str = "example.session.jsonl") -> Session:
    """A session of these lines; without a plan among them, one of the cases that its runs name."""
    head = header or a_header(a_case())
    plan = next((line for line in lines if isinstance(line, Plan)), None)
    runs = tuple(line for line in lines if isinstance(line, Run))

    def only(kind: type) -> tuple:
        return tuple(line for line in lines if type(line).__name__ == kind)

    return Session(
        path=path,
        header=head,
        skips=only("Skip"),
        audits=only("Audit"),
        plan=plan or Plan(cases=tuple(a_planned(case) for case in head.selection), blocks=2),
        runs=runs,
        resumed=only("Resumed"),
        end=next(iter(only("End")), None),
    )


class Silence:
    """Progress that nobody looks at."""

    def begin(self, stage: str, seconds: float, runs: int) -> None:
        """Say nothing."""

    def ran(self, run: Run, seconds_left: float) -> None:
        """Say nothing."""

    def repeating(self, runs: int) -> None:
        """Say nothing."""


class Clock:
    """A clock that moves only when a runner on it runs."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


class Timed:
    """A runner that lets the clock go on by the wall time of each run."""

    def __init__(self, runner: Runner, clock: Clock) -> None:
        self._runner = runner
        self._clock = clock

    def run(self, request: Request) -> Outcome:
        """Run, and time passes."""
        outcome = self._runner.run(request)
        self._clock.now += outcome.wall_s
        return outcome


def conducted(
    header: Header,
    runner: Runner | None = None,
    *,
    before: Session | None = None,
    baselines: dict[str, Case] | None = None,
    groups: dict[str, str] | None = None,
    fewer: dict[str, int] | None = None,
    repays: bool = True,
    planner: conduct.Planner | None = None,
    progress: conduct.Progress | None = None,
) -> list[Line]:
    """The lines that conducting this session adds, on made-up measurements and a made-up clock."""
    lines: list[Line] = []
    clock = Clock()
    work = conduct.Work(
        header=header,
        programs=dict.fromkeys(header.probes),
        baselines=baselines or {},
        deadline_s=5,
        before=before,
        groups=groups or {},
        fewer=fewer or {},
        repays=repays,
    )
    runner = Timed(runner or MockRunner(), clock)
    conduct.Conductor(work, runner, lines.append, progress or Silence(), clock, planner=planner).conduct()
    return lines
