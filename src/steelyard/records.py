# SPDX-License-Identifier: Apache-2.0
"""The nouns: what is said between the wings and what a session file is made of.

Records that are stored ignore unknown fields and give new fields defaults, so that an older Steelyard reads a newer
file of the same schema. All times are in seconds or, where the name says so, in nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from steelyard.settings import Settings

SCHEMA = 1
PROTOCOL = 1

Placement = Literal["same", "cross", "free"]
Statistic = Literal["lower_quartile", "median"]
Better = Literal["lower", "higher", "neither"]
#: What is read is held to what a machine can have counted or measured; the decoders of msgspec see to it.
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Block = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
#: Up to the year 5138 where it is a moment; a ratio of two readings, and its square, are finite.
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
Reading = Annotated[float, msgspec.Meta(ge=-1e60, le=1e60)]
Scalar = Whole | str
#: The innermost loops of a function, each as its instructions.
Loops = tuple[tuple[str, ...], ...]

#: Begins the quantities that are made of the processor's counters.
_COUNTER = "counter."
_LEAST, _MOST = 1e-150, 1e150
_CASE_NAME = re.compile(r"(?P<probe>[a-z0-9_]+/[a-z0-9_]+)(?:\[(?P<parameters>[^\]]*)\])?(?:@(?P<placement>[a-z]+))?")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all records: immutable, fields by name."""


class Metric(Record, frozen=True, kw_only=True):
    """One figure of a probe: quantity ``over`` divided by quantity ``per`` of the same value."""

    name: str
    unit: str
    better: Better
    over: str
    per: str
    doc: str


class Parameter(Record, frozen=True, kw_only=True):
    """What may be varied: an integer within limits or a choice of words, and the default sweep.

    ``brief``: those of the sweep that a first session of a few minutes takes; all of it when empty. ``built``: it says
    how the timed part was compiled, and not what is done. ``curves``: metrics that are drawn over it beside the main
    one.
    """

    name: str
    type: Literal["integer", "choice"]
    doc: str
    sweep: tuple[Scalar, ...]
    brief: tuple[Scalar, ...] = ()
    unit: str | None = None
    choices: tuple[str, ...] = ()
    minimum: Whole | None = None
    maximum: Whole | None = None
    built: bool = False
    curves: tuple[str, ...] = ()


class Descriptor(Record, frozen=True, kw_only=True):
    """What a probe says about itself (``--describe``).

    ``warms_up``: it compiles itself while it runs, so that the values of a run are a time series. ``value_ms``: values
    need be no longer; 0 where it does not say. ``family``: what its ways are drawn and tabled together as. ``title``:
    what people call it.
    ``properties``: what is known of it without measuring, by name, for whoever has to choose.
    """

    protocol: int
    probe: str
    question: str
    operation: str
    source: str
    statistic: Statistic
    placements: tuple[Placement, ...]
    uses: tuple[str, ...]
    metrics: tuple[Metric, ...]
    parameters: tuple[Parameter, ...] = ()
    baseline: str | None = None
    warms_up: bool = False
    value_ms: Count = 0
    family: str | None = None
    title: str | None = None
    properties: dict[str, str] = {}

    @property
    def called(self) -> str:
        """Its title, or its identifier where it has none."""
        return self.title or self.probe

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, if the probe has it."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


class Variant(Record, frozen=True, kw_only=True):
    """A way in which the same cases are run: with another environment, from another folder, by another interpreter."""

    label: str
    environment: dict[str, str] = {}
    probes: str | None = None
    python: str | None = None


class Case(Record, frozen=True, kw_only=True):
    """A probe with fixed parameters and placement, perhaps as a variant; equal cases have equal names."""

    probe: str
    placement: Placement
    parameters: dict[str, Scalar] = {}
    variant: str | None = None

    @property
    def name(self) -> str:
        """``question/way[param=value,…]@placement~variant``, parameters in the order of the descriptor."""
        inner = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        variant = f"~{self.variant}" if self.variant is not None else ""
        return f"{self.probe}{f'[{inner}]' if inner else ''}@{self.placement}{variant}"

    def __hash__(self) -> int:
        """Hash of the name: the parameters are a mapping."""
        return hash(self.name)


class CasePattern(Record, frozen=True, kw_only=True):
    """A probe with some parameters, and perhaps a placement: stands for every case that agrees in what it says."""

    probe: str
    parameters: dict[str, str] = {}
    placement: str | None = None

    @classmethod
    def parse(cls, text: str) -> CasePattern | None:
        """Read ``question/way[param=value]@placement``; None if the text has another form."""
        match = _CASE_NAME.fullmatch(text)
        if match is None:
            return None
        pairs = [pair.partition("=") for pair in (match["parameters"] or "").split(",") if pair]
        if any(not equals for _, equals, _ in pairs):
            return None
        return cls(
            probe=match["probe"],
            parameters={key: value for key, _, value in pairs},
            placement=match["placement"],
        )

    def matches(self, case: Case) -> bool:
        """Whether the case has this probe, these parameter values and, if given, this placement."""
        return (
            case.probe == self.probe
            and self.placement in (None, case.placement)
            and all(str(case.parameters.get(key)) == value for key, value in self.parameters.items())
        )


class Counter(msgspec.Struct, frozen=True, array_like=True):
    """What a counter of the processor counted, and the times for which it was enabled and for which it ran."""

    count: Count
    enabled_ns: Count
    running_ns: Count

    @property
    def scaled(self) -> float | None:
        """The count scaled to the time for which the counter was enabled; None if it never ran."""
        if self.running_ns >= self.enabled_ns:
            return float(self.count)
        return None if self.running_ns == 0 else self.count * self.enabled_ns / self.running_ns


class Counters(Record, frozen=True, kw_only=True):
    """What was counted when the batch of a value was run again for it, by event; ``operations`` are of that batch."""

    operations: Positive
    events: dict[str, Counter]


class Value(Record, frozen=True, kw_only=True):
    """One timed batch inside a run. ``user_ns`` and ``system_ns`` are None where only their sum can be read."""

    operations: Positive
    wall_ns: Count
    lanes: Positive = 1
    cpu_ns: Count | None = None
    user_ns: Count | None = None
    system_ns: Count | None = None
    voluntary: Count | None = None
    involuntary: Count | None = None
    minor_faults: Count | None = None
    run_delay_ns: Count | None = None
    counts: dict[str, Count] = {}
    readings: dict[str, Reading] = {}
    counters: Counters | None = None

    def quantity(self, name: str) -> float | None:
        """A quantity that a metric is made of, in base units; None if this value does not have it."""
        match name:
            case "wall":
                return self.wall_ns * self.lanes / 1e9
            case "cpu" | "user" | "system":
                nanoseconds = {"cpu": self.cpu_ns, "user": self.user_ns, "system": self.system_ns}[name]
                return None if nanoseconds is None else nanoseconds / 1e9
            case "operations":
                return float(self.operations)
            case "one":
                return 1.0
            case _ if name.startswith(_COUNTER):
                return self._counted(name.removeprefix(_COUNTER))
            case _:
                count = self.counts.get(name)
                return self.readings.get(name) if count is None else float(count)

    def _counted(self, name: str) -> float | None:
        if self.counters is None:
            return None
        if name == "operations":
            return float(self.counters.operations)
        counter = self.counters.events.get(name)
        return None if counter is None else counter.scaled

    def figure(self, metric: Metric) -> float | None:
        """The metric's figure; None if a quantity is missing or nothing happened that it could be divided by.

        None also for what no machine can have: its square would not be a number.
        """
        over, per = self.quantity(metric.over), self.quantity(metric.per)
        if over is None or not per:
            return None
        figure = over / per
        return figure if figure == 0 or _LEAST < abs(figure) < _MOST else None


class Histogram(Record, frozen=True, kw_only=True):
    """How often what was timed one by one in a run took how long: the few longest are in it, which no quantile has.

    ``buckets``: the least whole number that a bucket holds, and how many it holds; a number is ``scale`` of ``unit``.
    Numbers below 256 have a bucket each, and every octave above has 128, as HdrHistogram has them with two significant
    digits: so two histograms are merged by adding.
    """

    name: str
    unit: str
    scale: Annotated[float, msgspec.Meta(gt=0, le=1e9)]
    buckets: Annotated[tuple[tuple[Count, Positive], ...], msgspec.Meta(max_length=8192)]


def counter_metrics(values: Iterable[Value]) -> tuple[Metric, ...]:
    """The metrics of what the processor counted in these values: each event an operation, and what is made of two."""
    events = list(dict.fromkeys(name for value in values if value.counters for name in value.counters.events))
    metrics = [
        Metric(
            name=name,
            unit="1",
            better="lower",
            over=f"{_COUNTER}{name}",
            per=f"{_COUNTER}operations",
            doc=f"{name.replace('_', ' ')} an operation, as the machine counted them",
        )
        for name in events
    ]
    if {"instructions", "cycles"} <= set(events):
        over, per = f"{_COUNTER}instructions", f"{_COUNTER}cycles"
        doc = "instructions that the processor finished in a cycle"
        metrics.append(Metric(name="instructions_per_cycle", unit="1", better="neither", over=over, per=per, doc=doc))
    return tuple(metrics)


class Meta(Record, frozen=True, kw_only=True):
    """What a probe says about a run before its values.

    ``counters``: what the processor counted, and whose. ``timed``: the function, of a part with variants.
    """

    protocol: int
    probe: str
    parameters: dict[str, Scalar]
    placement: Placement
    operations: Count
    cpus: tuple[int, ...] = ()
    compiler: str = ""
    flags: str = ""
    clock: str = ""
    search_ns: Count = 0
    counters: str = ""
    counters_absent: str = ""
    timed: str = ""


class Transcript(Record, frozen=True, kw_only=True):
    """All that a probe printed in a run that ended properly. ``caveat_metrics`` and ``faults`` are as in a `Run`."""

    meta: Meta
    values: tuple[Value, ...]
    caveats: tuple[str, ...] = ()
    caveat_metrics: dict[str, tuple[str, ...]] = {}
    faults: tuple[str, ...] = ()
    histograms: tuple[Histogram, ...] = ()


class Machine(Record, frozen=True, kw_only=True):
    """The host: what stays the same over a reboot makes the key; the environment is what may change."""

    key: str
    facts: dict[str, str]
    environment: dict[str, str]
    cpus: tuple[int, ...]


class Disturbance(Record, frozen=True, kw_only=True):
    """Something about the machine that disturbs measurements, with what to do about it."""

    what: str
    advice: str
    severity: Literal["note", "warning"]


class ProbeFacts(Record, frozen=True, kw_only=True):
    """A probe as it was in a session: what it said about itself and which program it was.

    ``loops``: of a timed part with variants, by function.
    """

    descriptor: Descriptor
    sha256: str
    loops: dict[str, Loops] = {}


class PlannedCase(Record, frozen=True, kw_only=True):
    """A case with what the pilot found; the same in every block.

    ``run_s`` is the expected length of a run, of which ``overhead_s`` lies outside its values. With fewer than
    ``least_values`` it would not be a measurement, however short the time is.
    """

    case: Case
    operations: Count
    values: Count
    least_values: Count = 1
    run_s: Seconds
    overhead_s: Seconds = 0.0
    baseline: str | None = None
    control: bool = False
    group: str = ""


class ForeignSample(Record, frozen=True, kw_only=True):
    """A benchmark of another tool's file: one number a run, in base units.

    ``processes_known``: a run is a process; else the numbers are repetitions inside one process.
    ``values``: those that the number of each run stands for, by ``statistic``; empty where the file keeps none.
    """

    name: str
    unit: str
    better: Better
    runs: tuple[float, ...]
    processes_known: bool
    values: tuple[tuple[float, ...], ...] = ()
    statistic: Statistic = "median"


class ForeignFile(Record, frozen=True, kw_only=True):
    """What a file of another tool holds. ``facts`` are of the machine, by the names that `Machine` has for them."""

    path: str
    tool: str
    samples: tuple[ForeignSample, ...]
    caveats: tuple[str, ...] = ()
    facts: dict[str, str] = {}
    started: str | None = None


class Imported(Record, frozen=True, kw_only=True):
    """Where an imported session comes from. Its runs were in no blocks, and its machine is what the file says of it."""

    tool: str
    path: str
    sha256: str
    processes_known: bool


class Placed(Record, frozen=True, kw_only=True):
    """How a session of a fleet came to be.

    ``plan`` is the identity of the plan, ``token`` that of the session in its fleet: ``node.number``. ``job`` is
    what the backend calls its job and ``restart`` how often that job had been started before. ``lock_wait_s``: how long
    it waited for the machine, and ``idle_wait_s`` for the machine to be idle; None where it was not asked to be.
    """

    plan: str
    token: str
    node: str
    backend: str = msgspec.field(name="engine", default="")
    job: str = ""
    restart: Count = 0
    lock_wait_s: Seconds = 0.0
    idle_wait_s: Seconds | None = None


# --- lines of a session file -----------------------------------------------------------------------------------------


class Header(Record, frozen=True, kw_only=True, tag="session", tag_field="type"):
    """First line: where, when, what was asked for.

    ``target_given``: values have this length also where a probe says that shorter ones will do.
    """

    schema: int
    id: str
    started: str
    seed: Whole
    machine: Machine
    versions: dict[str, str]
    command: tuple[str, ...]
    selection: tuple[Case, ...]
    controls: tuple[Case, ...]
    probes: dict[str, ProbeFacts]
    blocks: Block | None
    budget_s: Seconds | None
    target_ns: Count
    values: Count
    target_given: bool = False
    variants: tuple[Variant, ...] = ()
    imported: Imported | None = None
    placed: Placed | None = None

    @property
    def titles(self) -> dict[str, str]:
        """What people call its mechanisms, by probe; those without a title are not in it."""
        described = ((name, facts.descriptor.title) for name, facts in self.probes.items())
        return {name: title for name, title in described if title}


class Skip(Record, frozen=True, kw_only=True, tag="skip", tag_field="type"):
    """A probe or a case that could not be measured here, with the reason."""

    subject: str
    reason: str


class Audit(Record, frozen=True, kw_only=True, tag="audit", tag_field="type"):
    """What disturbed the machine at a moment of the session."""

    moment: Literal["before", "after"]
    disturbances: tuple[Disturbance, ...]


class Plan(Record, frozen=True, kw_only=True, tag="plan", tag_field="type"):
    """What the pilot made of the selection."""

    cases: tuple[PlannedCase, ...]
    blocks: Block


class Watched(Record, frozen=True, kw_only=True):
    """What the lab saw of a process; shares are of its CPUs over its wall time."""

    started: Seconds
    wall_s: Seconds
    status: Literal["ok", "failed", "skipped"]
    error: str | None = None
    cpus: tuple[int, ...] = ()
    user_s: Seconds = 0.0
    system_s: Seconds = 0.0
    voluntary: Count = 0
    involuntary: Count = 0
    peak_rss_bytes: Count = 0
    foreign_share: Reading | None = None
    steal_share: Reading | None = None
    throttled_s: Seconds = 0.0
    leftovers: tuple[str, ...] = ()


class Run(Watched, frozen=True, kw_only=True, tag="run", tag_field="type"):
    """One process of a case. ``block`` is 0 outside the blocks.

    ``caveat_metrics``: the metrics that a caveat concerns; a caveat that is not in there concerns them all.
    ``faults``: the caveats that say what the measured program does wrong.
    """

    case: str
    role: Literal["pilot", "block", "sentinel"]
    block: Block
    order: Count
    attempt: Count
    operations: Count = 0
    values: tuple[Value, ...] = ()
    caveats: tuple[str, ...] = ()
    caveat_metrics: dict[str, tuple[str, ...]] = {}
    faults: tuple[str, ...] = ()
    compiler: str = ""
    flags: str = ""
    timed: str = ""
    overhead_s: Seconds = 0.0
    padding: Count = 0
    disturbed: tuple[str, ...] = ()
    counters: str = ""
    counters_absent: str = ""
    histograms: tuple[Histogram, ...] = ()

    @property
    def timed_s(self) -> float:
        """Wall time of the timed batches."""
        return sum(value.wall_ns for value in self.values) / 1e9


class Resumed(Record, frozen=True, kw_only=True, tag="resumed", tag_field="type"):
    """The session went on after an interruption."""

    at: str
    machine_key: str


class End(Record, frozen=True, kw_only=True, tag="end", tag_field="type"):
    """Last line of a complete session."""

    at: str
    reason: Literal["blocks", "budget", "decided"]
    blocks: Block
    wall_s: Seconds
    timed_s: Seconds


Line = Header | Skip | Audit | Plan | Run | Resumed | End


class Session(Record, frozen=True, kw_only=True):
    """A session file as read: all its lines, in order."""

    path: str
    header: Header
    skips: tuple[Skip, ...]
    audits: tuple[Audit, ...]
    plan: Plan | None
    runs: tuple[Run, ...]
    resumed: tuple[Resumed, ...]
    end: End | None

    @property
    def blocks(self) -> int:
        """The blocks that it has; of a session without an end those that were begun."""
        return self.end.blocks if self.end else max((run.block for run in self.runs if run.role == "block"), default=0)


# --- what stands for the runs of a session ----------------------------------------------------------------------------


class Summary(Record, frozen=True, kw_only=True):
    """One sample in a few numbers, all but n and confidence in the unit of the sample.

    low and high bound the median; they are infinite when n is too small for the confidence (below 6 for 95 %).
    p99 of fewer than 100 runs lies near the maximum and says little more than it.
    """

    n: int
    median: float
    low: float
    high: float
    confidence: float
    minimum: float
    p25: float
    p99: float
    maximum: float


class RunNumbers(Record, frozen=True, kw_only=True):
    """What stands for a run that has values. ``place``: that of the run in its session.

    ``counts``: it stands for its block. ``numbers``: one a metric, NaN for none. ``figures``: the main metric's of each
    value, in its order; None where the value has none.
    """

    place: int
    counts: bool
    numbers: tuple[float, ...]
    figures: tuple[float | None, ...]


class CaseNumbers(Record, frozen=True, kw_only=True):
    """A case of a session with the numbers of its runs, and the summary of those that count by its main metric.

    ``metrics``: those of the probe, the main one first, then those of the processor's counters. ``disturbed``: runs
    that count although they were disturbed. ``summary`` is None where no run that counts has a number.
    """

    case: Case
    control: bool
    planned: bool
    metrics: tuple[Metric, ...]
    runs: tuple[RunNumbers, ...]
    disturbed: int
    summary: Summary | None


# --- the live machine ------------------------------------------------------------------------------------------------


class Observation(Record, frozen=True, kw_only=True):
    """What a machine did for a while, the observer and its own doings left out.

    ``lengths[n]`` is the number of samples at which n tasks ran or were ready. ``switches`` is what all CPUs counted,
    those from and to idle included; ``voluntary`` and ``involuntary`` are of tasks that were there at the end or belong
    to the command, so the two make up less than all. Seconds of ``run_delay_s`` (ready and not running) are summed over
    tasks; ``pressure_s`` is time in which anybody at all waited for a CPU. None is what this kernel does not keep.
    """

    started: str
    machine_key: str
    cpus: int
    seconds: float
    every_s: float
    lengths: tuple[int, ...]
    switches: int
    forks: int
    voluntary: int
    involuntary: int
    tasks: int
    run_delay_s: float | None
    pressure_s: float | None
    own_cpu_s: float
    own_switches: int
    skips: tuple[Skip, ...] = ()
    command: tuple[str, ...] = ()
    command_status: int | None = None


# --- fleets ----------------------------------------------------------------------------------------------------------


class FleetPlan(Record, frozen=True, kw_only=True, tag="fleet plan", tag_field="type"):
    """What every machine of a fleet measures: names of cases, and the options of measuring.

    ``id`` is drawn when the plan is made; ``steelyard`` is the version that all machines must have. The seed of the
    settings is that of the plan, from which each session takes its own.
    """

    id: str
    steelyard: str
    cases: tuple[str, ...]
    settings: Settings


class FleetOrder(Record, frozen=True, kw_only=True):
    """What was asked for when a fleet was begun: the number of sessions on each of these nodes, and the backend.

    ``node_options`` are passed to `steelyard fleet node`, ``backend_options`` to the backend.
    """

    id: str
    at: str
    backend: str = msgspec.field(name="engine")
    nodes: tuple[str, ...]
    sessions: Positive
    time_limit_s: Seconds
    node_options: tuple[str, ...] = ()
    backend_options: tuple[str, ...] = msgspec.field(name="engine_options", default=())
    partition: str | None = None


class FleetNode(Record, frozen=True, kw_only=True):
    """What a backend says of a node: whether work can be placed on it now, and why not."""

    name: str
    usable: bool
    said: str = ""


class FleetJob(Record, frozen=True, kw_only=True):
    """What a backend says of the job of a token. ``code``: the exit code of a job that ended, where it is known."""

    job: str
    state: Literal["queued", "running", "ended"]
    said: str = ""
    code: int | None = None


class Heartbeat(Record, frozen=True, kw_only=True):
    """What an attempt at a token writes of itself into the fleet's folder. Times are seconds since 1970.

    ``code`` is the exit code, and only in the last one; ``done`` of ``of`` runs, about ``left_s`` to go.
    """

    at: Seconds
    what: Literal["begun", "waiting", "locked", "measuring", "delivered", "ended"]
    host: str = ""
    job: str = ""
    restart: Count = 0
    machine_key: str = ""
    said: str = ""
    done: Count = 0
    of: Count = 0
    left_s: Seconds = 0.0
    code: Whole | None = None


class TokenStatus(Record, frozen=True, kw_only=True):
    """How far the session of a token is."""

    token: str
    node: str
    state: Literal["delivered", "measuring", "waiting", "silent", "queued", "failed", "missing"]
    said: str = ""
    attempts: int = 0
    done: int = 0
    of: int = 0
    left_s: float = 0.0
    machine_key: str = ""
