# SPDX-License-Identifier: Apache-2.0
"""The lines of a session file, and the session that they make."""

from __future__ import annotations

from typing import Literal

import msgspec

from steelyard.nouns.base import Block, Count, Loops, Reading, Record, Seconds, Whole
from steelyard.nouns.case import Case, Variant
from steelyard.nouns.probe import Descriptor
from steelyard.nouns.run import Histogram, Value


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


class Header(Record, frozen=True, kw_only=True, tag="session", tag_field="type"):
    """First line: where, when, what was asked for.

    ``target_given``: values have this length also where a probe says that shorter ones will do. ``tails_ns``: for so
    long a run times operations one by one as well, where its probe can.
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
    tails_ns: Count = 0
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

    @property
    def plain(self) -> str:
        """The reason without the name of the probe that gave it, which the subject begins with."""
        return self.reason.removeprefix(f"{self.subject.partition('[')[0].partition('@')[0]}: ")


class Audit(Record, frozen=True, kw_only=True, tag="audit", tag_field="type"):
    """What disturbed the machine at a moment of the session.

    ``idle_w``: several looks at what it takes while it is idle, by domain.
    """

    moment: Literal["before", "after"]
    disturbances: tuple[Disturbance, ...]
    idle_w: dict[str, tuple[Reading, ...]] = {}


class Plan(Record, frozen=True, kw_only=True, tag="plan", tag_field="type"):
    """What the pilot made of the selection."""

    cases: tuple[PlannedCase, ...]
    blocks: Block


class Worked(Record, frozen=True, kw_only=True):
    """What a neighbour did while a run went on: its operations on each of its CPUs, and their CPU time together."""

    case: str
    cpus: tuple[int, ...]
    operations: tuple[Count, ...]
    cpu_s: Seconds


class Watched(Record, frozen=True, kw_only=True):
    """What the lab saw of a process; shares are of its CPUs over its wall time.

    ``foreign_share`` is without what its neighbours took, who are in ``beside``. ``throttled_by``: the quota of CPU
    time that stopped it, in words. ``waited``: shares of the time in which some task waited, by resource.
    ``heat``: how often heat slowed its CPUs down. ``energy_j``: of the whole machine meanwhile, by domain.
    """

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
    throttled_by: str = ""
    waited: dict[str, Reading] = {}
    heat: Count = 0
    energy_j: dict[str, Reading] = {}
    leftovers: tuple[str, ...] = ()
    beside: tuple[Worked, ...] = ()


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
