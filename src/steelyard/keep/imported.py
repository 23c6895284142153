# SPDX-License-Identifier: Apache-2.0
"""A file of another tool as the lines of a session; what the file does not say is marked as not known.

What is not known stays unknown: no controls, no sentinel, no blocks, nothing about what else the machine did. A run
gets the number of its place in the file as its block, and `Header.imported` tells judge that these are not blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from steelyard.errors import SessionFileError
from steelyard.keep.session import FACTS, NOT_KNOWN, moment_of
from steelyard.records import (
    SCHEMA,
    Audit,
    Case,
    CasePattern,
    Descriptor,
    Disturbance,
    End,
    ForeignFile,
    ForeignSample,
    Header,
    Imported,
    Line,
    Machine,
    Metric,
    Parameter,
    Placement,
    Plan,
    PlannedCase,
    ProbeFacts,
    Run,
    Scalar,
    Value,
)

_METRIC = "cost"
_PLACEMENTS: Mapping[str, Placement] = {"same": "same", "cross": "cross", "free": "free"}


def lines(file: ForeignFile, contents: bytes, at: str, versions: Mapping[str, str]) -> tuple[Header, list[Line]]:
    """The header and all other lines of the session. ``at``: the moment of the import.

    Raises SessionFileError if two results are one case.
    """
    cases = [case_of(sample.name, file.tool) for sample in file.samples]
    names = [case.name for case in cases]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SessionFileError(f"{file.path} has two results that are both {twice}: give them different names")
    longest = max((len(sample.runs) for sample in file.samples), default=0)
    doubts = _doubts(file)
    runs = [
        Run(
            case=case.name,
            role="block",
            block=number,
            order=order,
            attempt=1,
            started=0.0,
            wall_s=0.0,
            status="ok",
            operations=1,
            values=tuple(_value(cost, sample.unit) for cost in costs),
            caveats=(*doubts, *sample.caveats),
        )
        for order, (case, sample) in enumerate(zip(cases, file.samples, strict=True))
        for number, costs in enumerate(sample.values or [(cost,) for cost in sample.runs], start=1)
    ]
    planned = tuple(
        PlannedCase(case=case, operations=1, values=len((sample.values or ((0.0,),))[0]), run_s=0.0)
        for case, sample in zip(cases, file.samples, strict=True)
    )
    return _header(file, contents, cases, longest, at, versions), [
        Audit(moment="before", disturbances=_disturbances(file)),
        Plan(cases=planned, blocks=longest),
        *runs,
        End(at=at, reason="blocks", blocks=longest, wall_s=0.0, timed_s=0.0),
    ]


def case_of(name: str, tool: str) -> Case:
    """The case that a name stands for: one of ours if it is the name of one, else a case named after the tool."""
    base, tilde, variant = name.partition("~")
    pattern = CasePattern.parse(base)
    placement = _PLACEMENTS.get(pattern.placement or "") if pattern else None
    if pattern is not None and placement is not None:
        case = Case(
            probe=pattern.probe,
            placement=placement,
            parameters={key: _scalar(value) for key, value in pattern.parameters.items()},
            variant=variant if tilde else None,
        )
        if case.name == name:
            return case
    question = "".join(c if c.isalnum() else "_" for c in tool.lower())
    return Case(probe=f"{question}/{name}", placement="free")


def _scalar(text: str) -> Scalar:
    try:
        number = int(text)
    except ValueError:
        return text
    return number if str(number) == text else text


def _value(cost: float, unit: str) -> Value:
    # The figure is kept as a reading: as whole nanoseconds of one operation it would be rounded.
    return Value(operations=1, wall_ns=round(cost * 1e9) if unit == "s" else 0, readings={_METRIC: cost})


def _header(
    file: ForeignFile, contents: bytes, cases: list[Case], blocks: int, at: str, versions: Mapping[str, str]
) -> Header:
    sha256 = hashlib.sha256(contents).hexdigest()
    known = msgspec.json.encode(sorted(file.facts.items()))
    described: dict[str, ProbeFacts] = {}
    for case, sample in zip(cases, file.samples, strict=True):
        points = [other.parameters for other in cases if other.probe == case.probe] if case.parameters else []
        described.setdefault(case.probe, ProbeFacts(descriptor=_descriptor(case, points, sample, file.tool), sha256=""))
    unknown = dict.fromkeys(FACTS, NOT_KNOWN)
    return Header(
        schema=SCHEMA,
        id=sha256[:16],
        started=file.started if file.started and moment_of(file.started) else at,
        seed=0,
        machine=Machine(
            key=f"foreign-{hashlib.sha256(known).hexdigest()[:12] if file.facts else 'unknown'}",
            facts={**unknown, **{name: fact for name, fact in file.facts.items() if name != "kernel"}},
            environment={"kernel": file.facts.get("kernel", NOT_KNOWN)},
            cpus=(),
        ),
        versions=dict(versions),
        command=("import", file.path),
        selection=tuple(cases),
        controls=(),
        probes=described,
        blocks=blocks,
        budget_s=None,
        target_ns=0,
        values=0,
        imported=Imported(
            tool=file.tool,
            path=file.path,
            sha256=sha256,
            processes_known=all(sample.processes_known for sample in file.samples),
        ),
    )


def _descriptor(case: Case, points: list[dict[str, Scalar]], sample: ForeignSample, tool: str) -> Descriptor:
    metric = Metric(
        name=_METRIC, unit=sample.unit, better=sample.better, over=_METRIC, per="one", doc=f"as {tool} gives it"
    )
    return Descriptor(
        protocol=0,
        probe=case.probe,
        question=f"What did {tool} measure?",
        operation=f"whatever {tool} timed",
        source=tool,
        statistic=sample.statistic,
        placements=(case.placement,),
        uses=(),
        metrics=(metric,),
        parameters=tuple(
            _parameter(name, [point[name] for point in points if name in point]) for name in case.parameters
        ),
    )


def _parameter(name: str, values: list[Scalar]) -> Parameter:
    sweep = tuple(dict.fromkeys(values))
    doc = "as the imported file has it"
    if all(isinstance(value, int) for value in sweep):
        return Parameter(name=name, type="integer", doc=doc, sweep=sweep)
    return Parameter(name=name, type="choice", doc=doc, sweep=sweep, choices=tuple(map(str, sweep)))


def _doubts(file: ForeignFile) -> tuple[str, ...]:
    """Caveats of every case."""
    said = [f"imported from {file.tool}: no controls, so nothing shows whether its machine could be trusted"]
    if not all(sample.processes_known for sample in file.samples):
        said.append(
            "the file does not say what belongs to which process: the interval is of repetitions, and leaves out how "
            "processes differ"
        )
    return (*said, *file.caveats)


def _disturbances(file: ForeignFile) -> tuple[Disturbance, ...]:
    """What the whole session lacks."""
    lacks = Disturbance(
        what=f"imported from {file.path}, a file of {file.tool}: no controls, no sentinel, no blocks; "
        "@free stands for a placement that is not known",
        advice="measure with `steelyard run` where a verdict matters",
        severity="warning",
    )
    moment = Disturbance(
        what="the file does not say when it was measured; the moment shown is that of its import",
        advice="keep the date in the name of the file",
        severity="note",
    )
    return (lacks,) if file.started else (lacks, moment)
