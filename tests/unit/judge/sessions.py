# SPDX-License-Identifier: Apache-2.0
"""A session made of figures: what each case cost in each block."""

from collections.abc import Mapping, Sequence

from steelyard.records import Case, CasePattern, Plan, Session, Skip
from tests.making import a_choice, a_descriptor, a_header, a_metric, a_planned, a_run, a_session, a_value, an_integer

OPERATIONS = 1_000_000
#: Eight blocks of a quiet machine: a spread of about 1 %, alike above and below.
QUIET = (0.99, 1.01, 0.995, 1.005, 1.0, 0.992, 1.008, 1.0)


def steady(cost: float, blocks: int = 8) -> list[float]:
    """A cost with a little noise."""
    return [cost * QUIET[block % len(QUIET)] for block in range(blocks)]


def noisy(cost: float, blocks: int = 8) -> list[float]:
    """A cost that is halved and doubled from block to block."""
    return [cost * (0.5 if block % 2 else 2.0) for block in range(blocks)]


def the_case(text: str) -> Case:
    """A case by its name."""
    pattern = CasePattern.parse(text)
    assert pattern is not None
    assert pattern.placement is not None
    parameters = {key: int(value) if value.isdigit() else value for key, value in pattern.parameters.items()}
    return Case(probe=pattern.probe, placement=pattern.placement, parameters=parameters)


def weighed(
    costs: Mapping[str, Sequence[float | None]],
    *,
    shares: Mapping[str, Sequence[float]] | None = None,
    baselines: Mapping[str, str] | None = None,
    skips: Mapping[str, str] | None = None,
    family: str | Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
) -> Session:
    """The session in which each case cost so many seconds in each block; None where the block has no run.

    shares: a second metric, `share`, of unit 1. baselines: the case that is subtracted. skips: subject and reason.
    family: of the probes whose way begins with it, or by probe. titles: of mechanisms, by probe.
    """
    cases = {name: the_case(name) for name in costs}
    runs = [
        a_run(cases[name], block, values=(_value(cost, (shares or {}).get(name), block),))
        for name, figures in costs.items()
        for block, cost in enumerate(figures, start=1)
        if cost is not None
    ]
    planned = tuple(a_planned(case, baseline=(baselines or {}).get(name)) for name, case in cases.items())
    skipped = [Skip(subject=subject, reason=reason) for subject, reason in (skips or {}).items()]
    header = a_header(*cases.values(), probes=tuple(_descriptors(cases.values(), family, titles or {})))
    return a_session(*skipped, Plan(cases=planned, blocks=8), *runs, header=header)


def _value(cost, shares, block):
    readings = {} if shares is None else {"shared": shares[block - 1]}
    return a_value(cost, OPERATIONS, readings=readings)


def _descriptors(cases, family, titles):
    metrics = (a_metric(), a_metric("share", unit="1", better="neither", over="shared", per="one", doc="a share"))
    for case in cases:
        parameters = tuple(
            an_integer(name, value, maximum=10**6) if isinstance(value, int) else a_choice(name, value)
            for name, value in case.parameters.items()
        )
        own = family if isinstance(family, str) and f"/{family}_" in case.probe else None
        own = family.get(case.probe) if isinstance(family, dict) else own
        names = {"family": own, "title": titles.get(case.probe)}
        yield a_descriptor(case.probe, metrics=metrics, parameters=parameters, placements=("same", "free"), **names)
