# SPDX-License-Identifier: Apache-2.0
"""What it takes to repeat a session: its command, its seed, and how each mechanism was measured."""

from __future__ import annotations

import shlex
from typing import Literal

from steelyard.judge.findings import Findings
from steelyard.records import Record, Scalar, Session

#: Each case once a block, in an order drawn anew for each block; or whatever order another tool had.
Order = Literal["shuffled blocks", "imported"]


class Technique(Record, frozen=True, kw_only=True):
    """How one mechanism was measured: what an operation is, what was varied, with what it was compiled."""

    probe: str
    title: str
    question: str
    operation: str
    statistic: str
    source: str
    factors: dict[str, tuple[Scalar, ...]]
    placements: tuple[str, ...]
    compilers: tuple[str, ...]
    sha256: str


class Setup(Record, frozen=True, kw_only=True):
    """What it takes to repeat a session."""

    command: str
    seed: int
    versions: dict[str, str]
    blocks: int
    target_s: float
    values: int
    order: Order
    techniques: tuple[Technique, ...]


def setup_of(session: Session, findings: Findings) -> Setup:
    """The setup of a judged session."""
    header = session.header
    planned = {item.case.probe for item in session.plan.cases} if session.plan else set()
    command = shlex.join(["steelyard", *header.command])
    if "--seed" not in header.command:
        command += f" --seed {header.seed}"
    return Setup(
        command=command,
        seed=header.seed,
        versions=header.versions,
        blocks=findings.blocks,
        target_s=header.target_ns / 1e9,
        values=header.values,
        order="imported" if header.imported else "shuffled blocks",
        techniques=tuple(_technique(session, probe) for probe in header.probes if probe in planned),
    )


def _technique(session: Session, probe: str) -> Technique:
    header = session.header
    descriptor = header.probes[probe].descriptor
    planned = [item.case for item in session.plan.cases if item.case.probe == probe] if session.plan else []
    names = {case.name for case in planned}
    compilers = dict.fromkeys(
        f"{run.compiler} {run.flags}".strip() for run in session.runs if run.case in names and run.compiler
    )
    return Technique(
        probe=probe,
        title=descriptor.called,
        question=descriptor.question,
        operation=descriptor.operation,
        statistic=descriptor.statistic.replace("_", " "),
        source=descriptor.source,
        factors={
            parameter.name: tuple(
                dict.fromkeys(case.parameters[parameter.name] for case in planned if parameter.name in case.parameters)
            )
            for parameter in descriptor.parameters
        },
        placements=tuple(dict.fromkeys(case.placement for case in planned)),
        compilers=tuple(compilers),
        sha256=header.probes[probe].sha256,
    )
