# SPDX-License-Identifier: Apache-2.0
"""Makes the session files of this folder with MockRunner, from a seed: run it only when what is kept changes.

python -m tests.golden.make_sessions
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import msgspec

from steelyard.measure import plan
from steelyard.measure.runner import MockRunner, Outcome, Request
from steelyard.records import Audit, Case, Disturbance, Header, Line, Skip
from tests.making import a_case, a_choice, a_descriptor, a_header, a_metric, an_integer, conducted

HERE = Path(__file__).parent
SWEPT = a_descriptor(
    "example/swept",
    title="growing example",
    question="What does a growing example cost?",
    operation="one example of n parts",
    parameters=(an_integer("n", 1, 10, 100, maximum=10_000), a_choice("kind", "thread", "process")),
    metrics=(a_metric(), a_metric("cpu", over="cpu", doc="CPU time of one operation")),
    baseline="example/loop",
)
LOOP = a_descriptor("example/loop", question="What does the loop cost?", operation="one round of the loop")
BRITTLE = a_descriptor("example/brittle", question="What breaks?", operation="one break")
LOOP_CASE = a_case("example/loop")
BRITTLE_CASE = a_case("example/brittle")
SWEEP = [a_case("example/swept", n=n, kind=kind) for kind in ("thread", "process") for n in (1, 10, 100)]
COSTS = {
    LOOP_CASE.name: 2e-9,
    BRITTLE_CASE.name: 5e-3,
    **{case.name: case.parameters["n"] * (40e-9 if case.parameters["kind"] == "thread" else 900e-9) for case in SWEEP},
    plan.controls()[2].name: 105e-9,
    SWEEP[0].name: 2.05e-9,  # one part is no more than the loop around it
}
NOISE = Disturbance(what="the governor is powersave", advice="set it to performance", severity="warning")


def breaking_once(case: Case) -> Callable[[Request, int], Outcome | None]:
    """Trouble: this case fails in its second block, and only there."""
    seen = itertools.count(1)

    def trouble(request: Request, count: int) -> Outcome | None:
        if request.case == case and request.operations is not None and next(seen) == 2:
            return Outcome(started=float(count), wall_s=0.1, status="failed", error="was ended by signal 11")
        return None

    return trouble


def whole() -> list[Line]:
    """A session with a curve, a baseline, a failure, a skip and a disturbance."""
    header = a_header(
        *SWEEP, BRITTLE_CASE, probes=(SWEPT, LOOP, BRITTLE), controls=tuple(plan.controls()), blocks=8, values=3
    )
    runner = MockRunner(costs=COSTS, seed=11, trouble=breaking_once(BRITTLE_CASE))
    lines = conducted(header, runner, baselines=dict.fromkeys((case.name for case in SWEEP), LOOP_CASE))
    # The one thing that is not made up is the moment of the end.
    lines[-1] = msgspec.structs.replace(lines[-1], at="2026-01-02T03:05:00+00:00")
    skip = Skip(subject="example/absent", reason="no compiler for it")
    return [header, skip, Audit(moment="before", disturbances=(NOISE,)), *lines]


def interrupted() -> list[Line]:
    """A session over one case that was killed in its third block."""
    header: Header = a_header(LOOP_CASE, probes=(LOOP,), blocks=8, values=3)
    return [header, *conducted(header, MockRunner(costs=COSTS, seed=12))[:4]]


def write(name: str, lines: list[Line]) -> None:
    """Write a session file of this folder."""
    (HERE / f"{name}.session.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


if __name__ == "__main__":
    write("whole", whole())
    write("interrupted", interrupted())
