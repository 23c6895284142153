# SPDX-License-Identifier: Apache-2.0
"""What was measured: the price list, then a section a question."""

from __future__ import annotations

import math

import msgspec

from steelyard.judge.caches import PROBE
from steelyard.judge.cases import CaseFinding, Figure
from steelyard.judge.curves import Matrix
from steelyard.judge.models import QUESTION
from steelyard.judge.plots import question_of
from steelyard.judge.report import Judged
from steelyard.show import caches, connections, energy, figure_text, loaded, models, naming, neighbours
from steelyard.show.page import figures
from steelyard.show.page.markup import Markup, fold, joined, listed, named, table, tag
from steelyard.units import counted, format_interval, format_quantity

_HEAD = (
    "case",
    "median",
    "95 % interval",
    "less overhead",
    "minimum",
    "p25",
    "p99",
    "runs",
    "user",
    "system",
    "switches",
    "published",
)


def prices(judged: Judged) -> Markup:
    """Everything on one scale."""
    reading = fold("How to read the figures", listed(figures.READING))
    return joined([reading, *(figures.prices(plot) for plot in judged.prices)])


def questions(judged: Judged) -> list[tuple[str, str, Markup]]:
    """Of each question: the id of its section, its name, and what is in it."""
    shown = [case for case in judged.findings.cases if not case.control]
    found: dict[str, list[CaseFinding]] = {}
    for case in shown:
        found.setdefault(question_of(case.probe), []).append(case)
    return [
        (f"{judged.prefix}{question}", question, _question(judged, question, cases))
        for question, cases in found.items()
    ]


def _question(judged: Judged, question: str, cases: list[CaseFinding]) -> Markup:
    asked = {technique.probe: technique for technique in judged.setup.techniques}
    counters = list(dict.fromkeys(figure_text.counter(figure) for case in cases for figure in case.counters))
    mechanisms = list(dict.fromkeys(case.probe for case in cases))
    alike = naming.Alike(cases)
    plots = [plot for plot in judged.curves if plot.question == question]
    knees = [knee for knee in judged.findings.knees if knee.probe.split("/")[0] == question]
    scalings = [one for one in judged.findings.scalings if one.probe.split("/")[0] == question]
    matrices = [matrix for matrix in judged.findings.matrices if matrix.family.split("/")[0] == question]
    return joined(
        [
            tag("p", f"{counted(len(mechanisms), 'mechanism')} in {counted(len(cases), 'case')}.", class_="lead"),
            *_models(judged, question),
            *_connections(judged, question),
            *(figures.curves(plot) for plot in plots if plot.drawn),
            figures.short_curves([plot for plot in plots if not plot.drawn]),
            *([listed(figure_text.knee(knee) for knee in knees)] if knees else []),
            *([listed(figure_text.scaling(one) for one in scalings)] if scalings else []),
            *(_matrix(matrix, alike) for matrix in matrices),
            *_loaded(judged, question),
            *_beside(judged, question),
            *_energy(cases),
            *_caches(judged, question),
            fold(
                f"Every figure of {question}",
                table(
                    (*_HEAD, *counters),
                    (row for case in cases for row in _rows(case, alike, counters)),
                    caption=f"Every figure of {question}",
                ),
                *([tag("p", f"All cases: {naming.settings(alike.settings)}.")] if alike.settings else []),
            ),
            fold(
                "What one operation is",
                listed(joined([named(asked[name].title, name), f": {asked[name].operation}"]) for name in mechanisms),
            ),
        ]
    )


def _models(judged: Judged, question: str) -> list[Markup]:
    found = judged.findings.models
    if found is None or question != QUESTION:
        return []
    sheets = [
        table(
            ("model", *(", ".join(head) for head in sheet.heads)),
            ((title, *map(models.cell, cells)) for title, cells in sheet.rows),
            caption=", ".join(filter(None, (models.TITLE, sheet.over))),
        )
        for sheet in models.sheets(found)
    ]
    of_threads = [tag("h4", "Where a thread a connection is good enough"), listed(models.threads(found))]
    return [
        tag("h3", naming.capital(models.TITLE)),
        figures.models(f"{judged.prefix}models", found),
        fold("The same in tables", *sheets),
        tag("p", models.legend(found)),
        tag("p", f"All loads: {models.asked_of_all(found)}."),
        *(of_threads if found.threads else []),
    ]


def _connections(judged: Judged, question: str) -> list[Markup]:
    found = judged.findings.holders
    if not found or question != QUESTION:
        return []
    columns = connections.numbers(found)
    title = naming.capital(connections.TITLE)
    held = table(connections.heads(columns), connections.rows(found, columns), caption=title)
    return [tag("h3", title), held, tag("p", connections.LEGEND)]


def _beside(judged: Judged, question: str) -> list[Markup]:
    found = judged.findings.beside
    cases = [one for one in found.cases if question_of(one.case.probe) == question] if found else []
    if found is None or not cases:
        return []
    of_question = msgspec.structs.replace(found, cases=tuple(cases), left_out=())
    return [tag("h3", naming.capital(neighbours.TITLE)), listed(neighbours.sentences(of_question))]


def _loaded(judged: Judged, question: str) -> list[Markup]:
    found = [one for one in judged.findings.loaded if question_of(one.probe) == question]
    if not found:
        return []
    said = (f"{naming.called(one.title, one.fixed)}: {loaded.sentence(one)}" for one in found)
    return [figures.loaded(f"{judged.prefix}loaded-{question}", found), listed(said)]


def _energy(cases: list[CaseFinding]) -> list[Markup]:
    said = energy.sentences(cases)
    return [tag("h3", naming.capital(energy.TITLE)), listed(said)] if said else []


def _caches(judged: Judged, question: str) -> list[Markup]:
    levels = judged.findings.caches
    if levels is None or question != PROBE.partition("/")[0]:
        return []
    agree = "agree" if levels.agrees else "do not agree"
    title = f"The steps of the latency curve and the cache sizes that the machine reports {agree}"
    return [tag("h3", title), listed(caches.sentences(levels))]


def _rows(case: CaseFinding, alike: naming.Alike, columns: list[str]) -> list[tuple[str, ...]]:
    counters = {figure_text.counter(each): format_quantity(each.median, each.unit) for each in case.counters}
    first = (
        named(naming.of_case(case, alike.settings), case.case),
        *_figure(case.main),
        _maybe(case.user_s, "s"),
        _maybe(case.system_s, "s"),
        _maybe(case.switches, "1"),
        figure_text.published(case.main),
        *(counters.get(name, "") for name in columns),
    )
    empty = [""] * len(columns)
    return [
        first,
        *(
            (f"  {other.metric}", *_figure(other), "", "", "", figure_text.published(other), *empty)
            for other in case.others
        ),
    ]


def _maybe(value: float | None, unit: str) -> str:
    return "" if value is None else format_quantity(value, unit)


def _figure(figure: Figure) -> tuple[str, ...]:
    unit = figure.unit
    if figure.modes:
        centre = " / ".join(format_quantity(mode.median, unit) for mode in figure.modes)
        interval = "two modes, " + " / ".join(f"{mode.share:.0%}" for mode in figure.modes)
    else:
        centre = format_quantity(figure.median, unit)
        low = -math.inf if figure.low is None else figure.low
        high = math.inf if figure.high is None else figure.high
        interval = format_interval(low, high, figure.median, unit)
    ends = (format_quantity(value, unit) for value in (figure.minimum, figure.p25, figure.p99))
    return centre, interval, figure_text.net(figure), *ends, str(figure.n)


def _matrix(matrix: Matrix, alike: naming.Alike) -> Markup:
    """Ways down, the parameter across, as studies print them turned by a quarter so that many ways fit."""
    title = f"{matrix.family} {matrix.metric} by {matrix.parameter}, {naming.settings(alike.own(matrix.settings))}"
    rows = [
        (
            naming.called(way[0], way[1:]),
            *(" ".join(figure_text.cell(row.get(way), matrix.unit)) for row in matrix.rows.values()),
        )
        for way in matrix.ways
    ]
    head = ("way", *(f"{matrix.parameter} {x}" for x in matrix.rows))
    return fold(f"Table: {title}", table(head, rows, caption=f"{title}; published figures in brackets"))
