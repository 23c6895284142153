# SPDX-License-Identifier: Apache-2.0
"""Whether a published session can be true: its parts belong together, its controls passed, no figure is impossible.

A figure that is merely odd is not refused: an odd machine is what a gallery is there to show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from steelyard.judge import forms
from steelyard.records import Publication, PublishedCase, PublishedFigure, PublishedProbe
from steelyard.units import format_quantity

#: Names of controls with the states that do not make a session void.
_CONTROLS = {"identical copies", "planted difference", "sentinel"}
_STATES = {"passed", "doubtful", "too few blocks to tell"}
#: Light goes 0.3 mm in this time, and no part of a processor that does anything is smaller.
_LEAST_S = 1e-12
#: A cycle of a clock of 10 GHz at each end, and no way between them.
_LEAST_BETWEEN_CPUS_S = 0.2e-9
#: Longer than any session.
_MOST_S = 1e6
#: More than all memory of the largest machine brings in a second, and more than all its CPUs have cycles.
_MOST_BYTES_A_SECOND, _MOST_A_SECOND = 1e14, 1e13
#: Questions whose operations go from one CPU to another where they are placed so, and probes of other questions.
_BETWEEN_CPUS = ("message/", "cache/core_transfer")
#: Fewest runs that give an interval of 95 %.
_FEWEST_RUNS = 6
#: What six digits leave open.
_ROUNDING = 1e-5


def objection(of: Publication, today: str) -> str | None:
    """Why a published session can't be what it says, as the end of a sentence about it; None if it can.

    ``today`` is a date in ISO 8601.
    """
    return next(_objections(of, today), None)


def _objections(of: Publication, today: str) -> Iterator[str]:
    if of.date > today:
        yield f"it was measured on {of.date}, and today is {today}"
    yield from _of_texts(of)
    yield from _of_controls(of)
    probes = {probe.probe: probe for probe in of.probes}
    yield from (f"it has {name} twice" for name in _twice([probe.probe for probe in of.probes]))
    yield from (f"it has {name} twice" for name in _twice([case.case for case in of.cases]))
    yield from (
        f"{name} is not measured by {probe.main}, which it says is its main metric"
        for name, probe in probes.items()
        if probe.main not in probe.metrics
    )
    for case in of.cases:
        probe = probes.get(case.case.partition("[")[0].partition("@")[0])
        if probe is None:
            yield f"it does not describe the probe of {case.case}"
        elif strange := case.figures.keys() - probe.metrics.keys() or {probe.main} - case.figures.keys():
            yield f"{case.case} and its probe do not agree about the metric {min(strange)}"
        else:
            yield from (f"{case.case}: {why}" for why in _of_case(case, probe, of))


def _twice(names: list[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _of_texts(of: Publication) -> Iterator[str]:
    """Only what `publish` writes: nobody has to read what else somebody may have typed."""
    for name, text in of.facts.items():
        if not text or forms.fact(name, text) != text:
            yield f"its fact {name} is not one that is published, or not in its form"
    for case in of.cases:
        if forms.compiler(case.compiler) != case.compiler or forms.flags(case.flags) != case.flags:
            yield f"the compiler or the flags of {case.case} are not in the form in which they are published"


def _of_controls(of: Publication) -> Iterator[str]:
    names = [control.name for control in of.controls]
    if not names:
        yield "it has no controls"
    if not _CONTROLS.issuperset(names) or _twice(names):
        yield "its controls are not those of a session"
    failed = [control.name for control in of.controls if control.state not in _STATES]
    if failed:
        yield f"its control {failed[0]} did not pass"


def _of_case(case: PublishedCase, probe: PublishedProbe, of: Publication) -> Iterator[str]:
    whole = case.figures[probe.main]
    for name, figure in case.figures.items():
        unit = probe.metrics[name].unit
        yield from (f"{name} {why}" for why in _of_interval(figure, of.blocks))
        if unit != "1" and (figure.median < 0 or (figure.median == 0 and name == probe.main and unit != "B")):
            yield f"{name} is {figure.median:g} {unit}, and nothing is that cheap"
        if beyond := _of_physics(figure.median, unit, of):
            yield f"{name} is {format_quantity(figure.median, unit)}, {beyond}"
    if case.net is not None:
        yield from (f"{probe.main} less its overhead {why}" for why in _of_interval(case.net, of.blocks))
        if case.net.median > whole.median * (1 + _ROUNDING):
            yield f"{probe.main} is larger without its overhead than with it"
    if probe.metrics[probe.main].unit != "s":
        return
    if whole.median < _LEAST_S:
        yield f"it takes {whole.median:g} s, and light goes 0.3 mm in 1 ps"
    if case.case.endswith("@cross") and probe.probe.startswith(_BETWEEN_CPUS) and whole.median < _LEAST_BETWEEN_CPUS_S:
        yield f"it takes {whole.median:g} s from CPU to CPU, and a cycle of 10 GHz at each end takes 0.2 ns"


def _of_interval(figure: PublishedFigure, blocks: int) -> Iterator[str]:
    if figure.n > blocks + 1:  # the last block may have been cut short
        yield f"has {figure.n} runs that count in {blocks} blocks"
    if (figure.low is None) != (figure.high is None) or (figure.low is not None and figure.n < _FEWEST_RUNS):
        yield "has an interval that its runs cannot give"
    if figure.low is not None and figure.high is not None and not figure.low <= figure.median <= figure.high:
        yield "lies outside of its own interval"


def _of_physics(median: float, unit: str, of: Publication) -> str | None:
    """What no machine does, by the unit."""
    memory = of.facts.get("memory", "").partition(" ")[0]
    match unit:
        case "s" if median > _MOST_S:
            return "which is longer than any session"
        case "B" if memory.isdecimal() and median > (int(memory) + 1) * 2**30:
            return f"and the machine has {memory} GiB"
        case "B/s" if median > _MOST_BYTES_A_SECOND:
            return "and no memory brings so much"
        case "1/s" if median > _MOST_A_SECOND:
            return "and no machine has so many cycles"
        case _:
            return None
