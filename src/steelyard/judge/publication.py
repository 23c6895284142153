# SPDX-License-Identifier: Apache-2.0
"""What of a session is published: listed fields, each in a form that is listed, and what our own probes say.

A session holds texts of many writers: of probes, of the machine, of whoever typed the command. Nothing is taken over
because it looks harmless. Names, settings and metrics are those of the probes that come with Steelyard, which are asked
again (``known``); facts of the machine have a form of `forms`; figures are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from steelyard.errors import PublishError
from steelyard.judge import forms
from steelyard.judge.cases import CaseFinding, Figure, Net
from steelyard.judge.findings import Findings, judge
from steelyard.records import (
    PUBLISHED_VERSION,
    Descriptor,
    Publication,
    PublishedCase,
    PublishedControl,
    PublishedFigure,
    PublishedMetric,
    PublishedProbe,
    Record,
    Run,
    Scalar,
    Session,
)

#: Beyond these a figure is nothing that a machine has.
_MOST = 1e60
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DAY = re.compile(r"[1-4]\d{3}-[01]\d-[0-3]\d", re.ASCII)
_RELEASE = re.compile(r"\d{1,5}(\.\d{1,5}){0,2}((a|b|rc|\.dev|\.post)\d{1,5})?", re.ASCII)


class Prepared(Record, frozen=True, kw_only=True):
    """A session as it may be published, and what is left out of it.

    ``strangers``: cases of probes that do not come with this Steelyard, and of variants. ``unlisted``: the names of
    facts that are not published, or not in full.
    """

    publication: Publication
    strangers: tuple[str, ...]
    unlisted: tuple[str, ...]


def prepare(
    session: Session, known: Mapping[str, Descriptor], *, instance: str = "", usd_an_hour: float | None = None
) -> Prepared:
    """What of a session may be published. ``known``: what our own probes say of themselves, by name.

    ``instance`` is what the cloud calls the machine, by whoever publishes. Raises PublishError for a session that
    nobody should rely on.
    """
    findings = judge(session)
    _refuse(session, findings)
    told = {**findings.machine, **findings.environment}
    facts = forms.facts(told)
    shown = [case for case in findings.cases if not case.control]
    ours = [case for case in shown if _is_ours(case, session, known.get(case.probe))]
    if not ours:
        raise PublishError(
            f"{findings.path} has no case that may be published: none is of a probe that comes with this Steelyard"
        )
    names = {case.case for case in ours}
    runs = {run.case: run for run in reversed(session.runs) if run.status == "ok"}
    unsealed = Publication(
        version=PUBLISHED_VERSION,
        digest="",
        steelyard=_whole(_RELEASE, session.header.versions.get("steelyard", "")),
        date=session.header.started[:10],
        seed=findings.seed,
        blocks=findings.blocks,
        runs=findings.runs,
        disturbed_runs=findings.disturbed_runs,
        facts=facts,
        instance=instance,
        usd_an_hour=usd_an_hour,
        controls=tuple(PublishedControl(name=control.name, state=control.state) for control in findings.controls),
        probes=tuple(_probe(known[name], session) for name in dict.fromkeys(case.probe for case in ours)),
        cases=tuple(_case(case, known[case.probe], runs.get(case.case)) for case in ours),
    )
    return Prepared(
        publication=msgspec.structs.replace(unsealed, digest=unsealed.checksum),
        strangers=tuple(case.case for case in shown if case.case not in names),
        unlisted=tuple(name for name, text in told.items() if facts.get(name) != text),
    )


def _refuse(session: Session, findings: Findings) -> None:
    path = findings.path
    if session.header.imported is not None:
        raise PublishError(f"{path} comes from another tool and has no controls: measure with `steelyard run`")
    if findings.void is not None or not findings.controls:
        what = "is void" if findings.void is not None else "has no controls"
        raise PublishError(f"{path} {what}, so nobody may rely on it: `steelyard show {path}` says why; measure again")
    if not findings.complete:
        raise PublishError(f"{path} is not complete: go on with `steelyard run --resume {path}`, and publish it then")
    if not _DAY.fullmatch(session.header.started[:10]):
        raise PublishError(f"{path} does not say on which day it was measured: measure again")


def _is_ours(case: CaseFinding, session: Session, known: Descriptor | None) -> bool:
    """Whether a case is one of a probe that comes with Steelyard, as that probe understands it."""
    return (
        known is not None
        and "~" not in case.case
        and case.placement in known.placements
        and all(_is_setting(known, name, value) for name, value in case.parameters.items())
        and case.main.metric == known.metrics[0].name
        and case.main.metric in _figures(case, known)
        and _SHA256.fullmatch(session.header.probes[case.probe].sha256) is not None
    )


def _is_setting(known: Descriptor, name: str, value: Scalar) -> bool:
    parameter = known.parameter(name)
    if parameter is None:
        return False
    return value in parameter.choices if parameter.type == "choice" else isinstance(value, int)


def _figures(case: CaseFinding, known: Descriptor) -> dict[str, PublishedFigure]:
    """The figures of the metrics that the probe says it has."""
    units = {metric.name: metric.unit for metric in known.metrics}
    return {
        figure.metric: _figure(figure, figure.n, len(figure.modes) or 1)
        for figure in (case.main, *case.others)
        if units.get(figure.metric) == figure.unit and abs(figure.median) <= _MOST
    }


def _figure(of: Figure | Net, n: int, modes: int = 1) -> PublishedFigure:
    if of.low is None or of.high is None or max(abs(of.low), abs(of.high)) > _MOST:
        return PublishedFigure(n=n, median=_rounded(of.median), low=None, high=None, modes=modes)
    return PublishedFigure(n=n, median=_rounded(of.median), low=_rounded(of.low), high=_rounded(of.high), modes=modes)


def _rounded(number: float) -> float:
    """Six digits, of which no interval is so narrow that it would need more."""
    return float(f"{number:.6g}")


def _case(case: CaseFinding, known: Descriptor, run: Run | None) -> PublishedCase:
    return PublishedCase(
        case=case.case,
        figures=_figures(case, known),
        net=_figure(case.main.net, case.main.n) if case.main.net else None,
        compiler=forms.compiler(run.compiler) if run else "",
        flags=forms.flags(run.flags) if run else "",
    )


def _probe(known: Descriptor, session: Session) -> PublishedProbe:
    return PublishedProbe(
        probe=known.probe,
        title=known.title or "",
        operation=known.operation,
        sha256=session.header.probes[known.probe].sha256,
        main=known.metrics[0].name,
        metrics={metric.name: PublishedMetric(unit=metric.unit, better=metric.better) for metric in known.metrics},
    )


def _whole(form: re.Pattern[str], text: str) -> str:
    return text if form.fullmatch(text) else ""
