# SPDX-License-Identifier: Apache-2.0
"""The figures of a report, by Altair: for the page, where the reader's style sheet colours them, and as SVG or PNG.

Every text of a session goes into the data and none into an expression or a field's name, so that nothing that a session
file says is ever executed.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.judge.loaded import Loaded
from steelyard.judge.models import Models, Standing
from steelyard.judge.plots import Plot, ReferencePoint, Series, Spot
from steelyard.judge.report import Report
from steelyard.limits import V8_BYTES, require_addresses
from steelyard.show import loaded as in_loaded
from steelyard.show import models as in_models
from steelyard.show import naming
from steelyard.show.comparison import interval as change_interval
from steelyard.show.comparison import verdict
from steelyard.show.naming import PLACES
from steelyard.show.visible import visible_data
from steelyard.units import format_change, format_interval, format_quantity

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours, type size and whether a chart carries its own legend and title (a file does, the page has its own)."""

    ink: str
    soft: str
    grid: str
    paper: str
    accent: str
    series: tuple[str, ...]
    font: str
    legend: alt.Legend | None
    width: int | str


#: Eight hues that stay apart for colour-blind readers and on both backgrounds (after Okabe & Ito 2008, darkened).
_LIGHT = ("#0b62a4", "#c2510a", "#0a7d5a", "#a03a83", "#8a6d00", "#3f3f46", "#1792a8", "#b3263a")

#: The page: CSS variables, so that light and dark are the style sheet's.
PAGE = Theme(
    ink="var(--ink)",
    soft="var(--soft)",
    grid="var(--line)",
    paper="var(--paper)",
    accent="var(--accent)",
    series=tuple(f"var(--s{number})" for number in range(1, len(_LIGHT) + 1)),
    # The first of the style sheet; Vega measures labels with it.
    font='system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif',
    legend=None,
    width="container",
)

#: Files: light, with a legend inside.
FILE = Theme(
    ink="#1b1b1a",
    soft="#5f5e5a",
    grid="#e4e2dc",
    paper="#ffffff",
    accent="#0b62a4",
    series=_LIGHT,
    font="DejaVu Sans, sans-serif",
    legend=alt.Legend(orient="bottom", columns=3, title=None, symbolSize=70, labelLimit=260),
    width=720,
)

_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3))
_ROW = 19
_HEIGHT = 340
#: Lines with bands beyond which the bands hide each other; the bars of the points stay.
_MOST_BANDS = 6

_SECONDS = (
    "datum.value === 0 ? '0' : abs(datum.value) < 9.995e-7 ? format(datum.value * 1e9, '.4~g') + ' ns' : "
    "abs(datum.value) < 9.995e-4 ? format(datum.value * 1e6, '.4~g') + ' µs' : "
    "abs(datum.value) < 0.9995 ? format(datum.value * 1e3, '.4~g') + ' ms' : format(datum.value, '.4~g') + ' s'"
)
_BYTES_A_SECOND = (
    "datum.value === 0 ? '0' : abs(datum.value) < 9.995e5 ? format(datum.value / 1e3, '.4~g') + ' kB/s' : "
    "abs(datum.value) < 9.995e8 ? format(datum.value / 1e6, '.4~g') + ' MB/s' : "
    "format(datum.value / 1e9, '.4~g') + ' GB/s'"
)
_A_SECOND = "format(datum.value, '.4~s') + '/s'"
#: Half of something is 0.5 and not 500m, which is read as metres or minutes.
_PLAIN = "abs(datum.value) < 1000 ? format(datum.value, '.4~g') : format(datum.value, '.4~s')"
_MEMORY = "format(datum.value, '.4~s') + 'B'"
_QUANTITY_LABELS = {"s": _SECONDS, "B/s": _BYTES_A_SECOND, "1/s": _A_SECOND, "B": _MEMORY}
_WHOLE = "format(datum.value, ',')"
_BYTES = (
    "datum.value >= 1048576 && datum.value % 1048576 === 0 ? format(datum.value / 1048576, 'd') + ' Mi' : "
    "datum.value >= 1024 && datum.value % 1024 === 0 ? format(datum.value / 1024, 'd') + ' Ki' : "
    "format(datum.value, ',')"
)
_AFTER_SLASH = "indexof(datum.value, '/') < 0 ? datum.value : slice(datum.value, indexof(datum.value, '/') + 1)"
_NO_SLASH = "indexof(datum.value, '/') < 0"
#: A ratio as a change, or from a halving and a doubling on as a factor.
_CHANGE = (
    "datum.value > 1.99 ? '× ' + format(datum.value, '.3~r') : datum.value < 0.51 ? '÷ ' + format(1 / datum.value, "
    "'.3~r') : datum.value === 1 ? 'same' : format(100 * (datum.value - 1), '+.2~r') + ' %'"
)


# --- what the data says -----------------------------------------------------------------------------------------------


def said(spot: Spot, unit: str) -> str:
    """A spot in words: the figure with its interval, or both modes."""
    if spot.modes:
        modes = " and ".join(
            f"{format_quantity(mode.median, unit)} ({mode.share:.0%}{f' {mode.where}' if mode.where else ''})"
            for mode in spot.modes
        )
        return f"two modes: {modes}, {spot.n} runs"
    median = format_quantity(spot.value, unit)
    if spot.low is None or spot.high is None:
        return f"{median}, no interval from {spot.n} runs"
    return f"{median} {format_interval(spot.low, spot.high, spot.value, unit)}, {spot.n} runs"


@dataclass(frozen=True, slots=True)
class _Rows:
    """The data of a plot: a row a mark. ``pairs`` are spans between the two modes of a case."""

    marks: list[Row]
    intervals: list[Row]
    pairs: list[Row]
    reference_points: list[Row]

    def of_part(self, part: int | None) -> _Rows:
        """Those of one part of a plot, or all."""
        every = (self.marks, self.intervals, self.pairs, self.reference_points)
        return _Rows(*([row for row in rows if part in {None, row["part"]}] for rows in every))

    @property
    def figures(self) -> list[float]:
        """Everything that an axis has to reach."""
        ends = [row[key] for row in (*self.intervals, *self.pairs) for key in ("low", "high")]
        return [*ends, *(row["value"] for row in (*self.marks, *self.reference_points))]


def _rows(plot: Plot, names: Mapping[int, str]) -> _Rows:
    """``names`` are those of the series, by their identity."""
    rows = _Rows([], [], [], [])
    for series in plot.series:
        name = names[id(series)]
        for spot in series.spots:
            what = {"series": name, "part": series.part, "placement": spot.placement, "x": spot.x}
            tip = f"{naming.of_spot(spot)}\n{said(spot, plot.unit)}"
            values = sorted(mode.median for mode in spot.modes) or [spot.value]
            kind = "mode" if spot.modes else "median"
            rows.marks.extend({**what, "value": value, "kind": kind, "tip": tip} for value in values if value > 0)
            if spot.modes and values[0] > 0:
                rows.pairs.append({**what, "low": values[0], "high": values[1]})
            elif spot.low is not None and spot.high is not None and spot.low > 0:
                rows.intervals.append({**what, "low": spot.low, "high": spot.high})
        rows.reference_points.extend(
            {
                **{"series": name, "part": series.part, "x": point.x, "value": point.value},
                "tip": _reference_words(point, plot.unit),
            }
            for point in series.reference_points
            if point.value > 0
        )
    return rows


def _reference_words(point: ReferencePoint, unit: str) -> str:
    words = f"published: {point.mechanism}\n{format_quantity(point.value, unit)} ({point.source})"
    return f"{words}\nbut: {point.error}" if point.error else words


def _round_numbers(figures: Sequence[float]) -> list[float]:
    """Ticks of a log axis: decades, with 2 and 5 between them where there are few."""
    if not figures:
        return []
    low, high = math.floor(math.log10(min(figures))), math.ceil(math.log10(max(figures)))
    steps = (1,) if high - low > 3 else (1, 2, 5)
    return [float(f"{step}e{power}") for power in range(low, high + 1) for step in steps]


# --- building blocks --------------------------------------------------------------------------------------------------


class _Drawing:
    """Layers over named data; a layer whose data is empty is left out, for Vega would warn of it.

    ``parts``: the rows are of several parts, of which one is shown at a time.
    """

    def __init__(self, theme: Theme, *, parts: bool = False) -> None:
        self.theme = theme
        self._parts = parts
        self._layers: list[Any] = []
        self._data: dict[str, Sequence[Row]] = {}

    def add(self, name: str, rows: Sequence[Row], draw: Callable[[alt.Chart], Any]) -> None:
        """A layer of these rows, if there are any. Layers of one name share their rows."""
        if rows:
            self._data[name] = list(rows)
            chart = draw(alt.Chart(alt.NamedData(name)))
            self._layers.append(chart.transform_filter("datum.part === part") if self._parts else chart)

    def spec(self, title: str, height: int) -> Row:
        """The Vega-Lite specification."""
        theme, in_page = self.theme, self.theme.legend is None
        chart = (
            alt.layer(*self._layers)
            .add_params(alt.param(name="picked", value=[]), *([alt.param(name="part", value=0)] if self._parts else []))
            .properties(
                width=theme.width,
                height=height,
                background="transparent" if in_page else theme.paper,
                padding={"left": 0, "right": 4, "top": 2, "bottom": 2} if in_page else 14,
            )
            .configure(font=theme.font, aria=False, lineBreak="\n")
            .configure_view(stroke=None)
            .configure_axis(
                labelColor=theme.soft,
                titleColor=theme.soft,
                gridColor=theme.grid,
                domainColor=theme.grid,
                tickColor=theme.grid,
                labelFontSize=11.5,
                titleFontSize=11.5,
                titleFontWeight="normal",
            )
            .configure_legend(labelColor=theme.ink, labelFontSize=11)
            .configure_title(color=theme.ink, fontSize=15, anchor="start", fontWeight="bold", offset=14)
        )
        spec: Row = (chart if in_page else chart.properties(title=title)).to_dict()
        named: Row = visible_data(spec | {"datasets": self._data})
        return named


def _picked(rest: float, field: str) -> Any:
    """Opacity: all alike until the reader picks some."""
    test = f"length(picked) === 0 || indexof(picked, datum.{field}) >= 0"
    return alt.condition(test, alt.value(rest), alt.value(rest * 0.12))


def _in_order(values: Sequence[str], shown: Sequence[Any]) -> alt.Scale:
    return alt.Scale(domain=list(values), range=list(shown))


def _quantity_axis(unit: str, figures: Sequence[float], **more: Any) -> alt.Axis:
    return alt.Axis(
        labelExpr=_QUANTITY_LABELS.get(unit, _PLAIN),
        values=_round_numbers(figures),
        title=None,
        labelOverlap="greedy",
        labelSeparation=8,
        **more,
    )


# --- marks that all figures of cases have -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Marks:
    """Where the marks of a figure stand and how its series are told apart.

    at, from_to: the encodings of a mark and of a span along the scale of figures. quiet: the colour without a legend.
    """

    rows: _Rows
    at: dict[str, Any]
    from_to: dict[str, Any]
    field: str
    colour: alt.Color
    quiet: alt.Color
    shape: alt.Shape
    paper: str

    def spans(self, drawing: _Drawing, *, width: float, opacity: float) -> None:
        """Intervals, and from one mode to the other."""
        drawing.add(
            "intervals",
            self.rows.intervals,
            lambda chart: chart.mark_rule(strokeWidth=width).encode(
                **self.from_to, color=self.quiet, opacity=_picked(opacity, self.field)
            ),
        )
        drawing.add(
            "pairs",
            self.rows.pairs,
            lambda chart: chart.mark_rule(strokeWidth=1.5, strokeDash=[2, 2]).encode(
                **self.from_to, color=self.quiet, opacity=_picked(1, self.field)
            ),
        )

    def points(self, drawing: _Drawing) -> None:
        """A filled point a median, a hollow one a mode."""
        drawing.add(
            "marks",
            self.rows.marks,
            lambda chart: chart.mark_point(size=45, strokeWidth=1.5, filled=False).encode(
                **self.at,
                color=self.colour,
                shape=self.shape,
                fill=alt.condition("datum.kind === 'mode'", alt.value(self.paper), self.quiet),
                opacity=_picked(1, self.field),
                tooltip="tip:N",
            ),
        )


def _legend(theme: Theme, **more: Any) -> alt.Legend | None:
    """The legend of a file; the page has buttons."""
    return theme.legend and alt.Legend(**theme.legend.to_dict(), **more)


# --- the price list ---------------------------------------------------------------------------------------------------


def prices(plot: Plot, theme: Theme = PAGE) -> Row:
    """All mechanisms on one log scale, a row each below its question; the marks of a row are its cases."""
    ordered = _row_names(plot)
    rows = _rows(plot, {id(series): name for _, members in ordered for name, series in members})
    scale = alt.Scale(type="log", nice=False, padding=8)
    axis = _quantity_axis(plot.unit, rows.figures, orient="top", domain=False, ticks=False)
    low, value = alt.X("low:Q", scale=scale, axis=axis), alt.X("value:Q", scale=scale, axis=axis)
    y = _names_axis([name for group, members in ordered for name in (group, *(row for row, _ in members))], theme)
    looks = [one for one in placement_looks(theme) if any(row["placement"] == one[0] for row in rows.marks)]
    names = [name for name, _, _ in looks]
    colours = _in_order(names, [colour for _, _, colour in looks])
    legend = _legend(theme, labelExpr=f"{json.dumps(PLACES)}[datum.label]")
    marks = _Marks(
        rows=rows,
        at={"x": value, "y": y},
        from_to={"x": low, "x2": "high:Q", "y": y},
        field="placement",
        colour=alt.Color("placement:N", scale=colours, legend=legend),
        quiet=alt.Color("placement:N", scale=colours, legend=None),
        shape=alt.Shape("placement:N", scale=_in_order(names, [one for _, one, _ in looks]), legend=legend),
        paper=theme.paper,
    )
    spans = [_span(name, series, plot.unit) for _, members in ordered for name, series in members]

    drawing = _Drawing(theme)
    drawing.add(
        "spans",
        [span for span in spans if "low" in span],
        lambda chart: chart.mark_rule(color=theme.grid, strokeWidth=1.5).encode(**marks.from_to),
    )
    marks.spans(drawing, width=6, opacity=0.4)
    drawing.add(
        "reference_points",
        rows.reference_points,
        lambda chart: chart.mark_point(
            shape="cross", angle=45, size=46, filled=False, stroke=theme.soft, strokeWidth=1.2
        ).encode(**marks.at, tooltip="tip:N"),
    )
    marks.points(drawing)
    # The script leaves these out where the page is too narrow for them.
    drawing.add(
        "words",
        spans,
        lambda chart: chart.mark_text(align="left", dx=10, color=theme.ink, fontSize=11.5).encode(
            x=alt.value("width"), y=y, text="text:N"
        ),
    )
    return drawing.spec(naming.title(plot), _ROW * (len(plot.series) + len(ordered)))


def placement_looks(theme: Theme = PAGE) -> list[tuple[str, str, str]]:
    """Name, shape and colour of each placement."""
    return list(zip(PLACES, _SHAPES, theme.series, strict=False))


def price_order(plot: Plot) -> list[tuple[str, list[Series]]]:
    """Questions by their best figure, and within them mechanisms by theirs; answers as they were given."""
    sign = -1 if plot.better == "higher" else 1

    def best(series: Series) -> float:
        return min(sign * spot.value for spot in series.spots)

    groups: dict[str, list[Series]] = {}
    for series in plot.series if plot.kind == "answers" else sorted(plot.series, key=best):
        groups.setdefault(series.group, []).append(series)
    return list(groups.items())


def _row_names(plot: Plot) -> list[tuple[str, list[tuple[str, Series]]]]:
    """The same with a name for each row that no other has: what follows the slash is shown."""
    taken: set[str] = set()

    def named(group: str, series: Series) -> tuple[str, Series]:
        name = f"{group}/{series.title.partition('/')[2] or series.title}"
        if name in taken:
            name = f"{name} ({series.spots[0].case.partition('[')[0].partition('@')[0].partition('/')[2]})"
        taken.add(name)
        return name, series

    return [(group, [named(group, series) for series in members]) for group, members in price_order(plot)]


def _names_axis(names: Sequence[str], theme: Theme) -> alt.Y:
    """A row a name; those without a slash are heads."""
    return alt.Y(
        "series:N",
        scale=alt.Scale(domain=list(names), paddingInner=0, paddingOuter=0.2),
        axis=alt.Axis(
            title=None,
            labelExpr=_AFTER_SLASH,
            labelFontWeight=alt.condition(_NO_SLASH, alt.value("bold"), alt.value("normal")),
            labelColor=alt.condition(_NO_SLASH, alt.value(theme.ink), alt.value(theme.soft)),
            labelLimit=260,
            ticks=False,
            domain=False,
            labelPadding=8,
        ),
    )


def _span(name: str, series: Series, unit: str) -> Row:
    """From the least to the most of a row, with words for both."""
    values = [value for spot in series.spots for value in (spot.value, *(mode.median for mode in spot.modes))]
    least, most = format_quantity(min(values), unit), format_quantity(max(values), unit)
    same_unit = least.partition(" ")[2] == most.partition(" ")[2]
    words = least if least == most else f"{least.partition(' ')[0] if same_unit else least} – {most}"
    ends = {"low": min(values), "high": max(values)} if min(values) > 0 else {}
    return {"series": name, "text": words, **ends}


# --- curves -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Look:
    """How a series is told from others: colour, shape and dashes."""

    colour: str
    shape: str
    dash: tuple[int, ...]


def look(number: int, theme: Theme = PAGE) -> Look:
    """The look of the n-th series; no two of the first 24 share all three."""
    hues = len(theme.series)
    turn = number // hues
    return Look(theme.series[number % hues], _SHAPES[(number + turn) % len(_SHAPES)], _DASHES[turn % len(_DASHES)])


def series_looks(plot: Plot, theme: Theme = PAGE) -> dict[str, Look]:
    """The look of each series by its name, which it has in all parts."""
    names = dict.fromkeys(naming.of_series(series) for series in plot.series)
    return {name: look(number, theme) for number, name in enumerate(names)}


def curves(plot: Plot, theme: Theme = PAGE, part: int | None = None) -> Row:
    """Cost by a parameter on log axes: a line a series, its intervals as a band, published figures as points.

    A plot of several parts shows the first, and on the page whichever is chosen; ``part`` makes a figure of that alone.
    """
    rows = _rows(plot, {id(series): naming.of_series(series) for series in plot.series}).of_part(part)
    looks = series_looks(plot, theme)
    if part is not None:
        looks = {name: one for name, one in looks.items() if any(row["series"] == name for row in rows.marks)}
    several = part is None and bool(plot.parts)
    x = _parameter_axis(plot, sorted({row["x"] for row in (*rows.marks, *rows.reference_points)}))
    # The same axes in all parts, so that what changes is seen.
    whole = [min(rows.figures), max(rows.figures)] if several and rows.figures else alt.Undefined
    scale = alt.Scale(type="log", nice=False, padding=10, domain=whole)
    axis = _quantity_axis(plot.unit, rows.figures)
    low, value = alt.Y("low:Q", scale=scale, axis=axis), alt.Y("value:Q", scale=scale, axis=axis)
    colours = _in_order(list(looks), [one.colour for one in looks.values()])
    shapes = _in_order(list(looks), [one.shape for one in looks.values()])
    legend = _legend(theme) if len(looks) > 1 else None
    marks = _Marks(
        rows=rows,
        at={"x": x, "y": value},
        from_to={"x": x, "y": low, "y2": "high:Q"},
        field="series",
        colour=alt.Color("series:N", scale=colours, legend=legend),
        quiet=alt.Color("series:N", scale=colours, legend=None),
        shape=alt.Shape("series:N", scale=shapes, legend=legend),
        paper=theme.paper,
    )

    drawing = _Drawing(theme, parts=several)
    _bounds(plot, drawing, marks, part)
    if len(looks) <= _MOST_BANDS:
        joined = {naming.of_series(series) for series in plot.series if series.joined}
        drawing.add(
            "bands",
            [row for row in rows.intervals if row["series"] in joined],
            lambda chart: chart.mark_area().encode(**marks.from_to, color=marks.quiet, opacity=_picked(0.16, "series")),
        )
    marks.spans(drawing, width=1.5, opacity=0.6)
    _references(drawing, marks)
    _lines(plot, drawing, marks, looks)
    marks.points(drawing)
    return drawing.spec(naming.title(plot, part), _HEIGHT)


def _bounds(plot: Plot, drawing: _Drawing, marks: _Marks, part: int | None) -> None:
    """Overheads: one figure across the whole axis, or a line where there is one at each x."""
    bounds = [
        {
            "name": naming.of_bound(bound, plot.unit),
            "part": bound.part,
            "x": bound.x,
            "value": bound.value,
            "tip": naming.of_bound(bound, plot.unit),
        }
        for bound in plot.bounds
        if bound.value > 0 and part in {None, bound.part}
    ]
    look: dict[str, Any] = {"strokeDash": [1, 4], "strokeWidth": 1.4, "color": drawing.theme.soft}
    drawing.add(
        "bounds",
        [bound for bound in bounds if bound["x"] is None],
        lambda chart: chart.mark_rule(**look).encode(y=marks.at["y"], tooltip="tip:N"),
    )
    drawing.add(
        "floors",
        [bound for bound in bounds if bound["x"] is not None],
        lambda chart: chart.mark_line(**look).encode(**marks.at, detail="name:N"),
    )


def _references(drawing: _Drawing, marks: _Marks) -> None:
    """Published figures: crosses on thin dashes, in the colour of what they are beside."""
    drawing.add(
        "reference_points",
        marks.rows.reference_points,
        lambda chart: chart.mark_line(strokeWidth=1, strokeDash=[3, 3]).encode(
            **marks.at, color=marks.quiet, opacity=_picked(0.5, "series")
        ),
    )
    drawing.add(
        "reference_points",
        marks.rows.reference_points,
        lambda chart: chart.mark_point(filled=False, shape="cross", angle=45, size=42).encode(
            **marks.at, color=marks.quiet, opacity=_picked(0.7, "series"), tooltip="tip:N"
        ),
    )


def _lines(plot: Plot, drawing: _Drawing, marks: _Marks, looks: Mapping[str, Look]) -> None:
    joined = {naming.of_series(series) for series in plot.series if series.joined}
    dashes = _in_order(list(looks), [list(one.dash) for one in looks.values()])
    dash = alt.StrokeDash("series:N", scale=dashes, legend=None)
    drawing.add(
        "lines",
        [row for row in marks.rows.marks if row["series"] in joined and row["kind"] == "median"],
        lambda chart: chart.mark_line(strokeWidth=1.8).encode(
            **marks.at, color=marks.quiet, strokeDash=dash, opacity=_picked(1, "series")
        ),
    )


def _parameter_axis(plot: Plot, xs: list[int]) -> alt.X:
    """Ticks where something was measured; a zero among them calls for a scale that has one."""
    return alt.X(
        "x:Q",
        scale=alt.Scale(type="log" if xs and xs[0] > 0 else "symlog", nice=False, padding=14),
        axis=alt.Axis(
            title=plot.x if plot.x_unit in {None, "1"} else f"{plot.x} ({plot.x_unit})",
            values=xs,
            labelExpr=_BYTES if plot.x_unit == "B" else _WHOLE,
            labelOverlap="greedy",
            labelSeparation=8,
            grid=False,
        ),
    )


# --- comparison -------------------------------------------------------------------------------------------------------

#: Verdicts are told apart by shape and fill as well as by colour.
MARKS = {"different": "diamond", "equivalent": "circle", "undecided": "square"}


def verdict_colours(theme: Theme = PAGE) -> dict[str, str]:
    """The colour of each verdict."""
    return {"different": theme.series[1], "equivalent": theme.series[2], "undecided": theme.soft}


def ratios(cases: Sequence[Compared], found: Comparisons, title: str, theme: Theme = PAGE) -> Row:
    """Each case's ratio with its interval; the band is the margin within which cases are called equivalent."""
    margin = found.margin
    names = _case_rows([case.case for case in cases], found.titles)
    furthest = max((max(case.ratio, 1 / case.ratio) for case in cases), default=1.1) * 1.25
    rows = [
        {
            "case": names[case.case],
            "value": case.ratio,
            # An end without a bound, or far away, ends at the edge of the figure.
            "low": max(case.low, 1 / furthest),
            "high": furthest if case.high is None else min(case.high, furthest),
            "verdict": case.verdict,
            "tip": "\n".join(
                [
                    naming.in_words(case.case, found.titles),
                    f"{format_change(case.ratio)} {change_interval(case)}",
                    verdict(case, margin),
                ]
            ),
        }
        for case in cases
    ]
    colours = verdict_colours(theme)
    scale_of_colours = _in_order(list(MARKS), [colours[name] for name in MARKS])
    quiet = alt.Color("verdict:N", scale=scale_of_colours, legend=None)
    colour = alt.Color("verdict:N", scale=scale_of_colours, legend=theme.legend)
    shape = alt.Shape("verdict:N", scale=_in_order(list(MARKS), list(MARKS.values())), legend=theme.legend)
    y = alt.Y(
        "case:N",
        sort=None,
        axis=alt.Axis(title=None, labelExpr=_AFTER_SLASH, labelLimit=300, ticks=False, domain=False, labelPadding=8),
    )
    scale = alt.Scale(type="log", domain=[1 / furthest, furthest], nice=False)
    axis = alt.Axis(
        title=None,
        labelExpr=_CHANGE,
        values=_round_ratios(furthest),
        orient="top",
        labelOverlap="greedy",
        labelSeparation=8,
        domain=False,
        ticks=False,
    )
    low, value = alt.X("low:Q", scale=scale, axis=axis), alt.X("value:Q", scale=scale, axis=axis)

    drawing = _Drawing(theme)
    drawing.add(
        "margin",
        [{"low": 1 / (1 + margin), "high": 1 + margin, "value": 1}],
        lambda chart: chart.mark_rect(color=theme.grid, opacity=0.6).encode(x=low, x2="high:Q"),
    )
    drawing.add(
        "margin",
        [{"low": 1 / (1 + margin), "high": 1 + margin, "value": 1}],
        lambda chart: chart.mark_rule(color=theme.soft).encode(x=value),
    )
    drawing.add(
        "ratios",
        rows,
        lambda chart: chart.mark_rule(strokeWidth=2).encode(
            x=low, x2="high:Q", y=y, color=quiet, opacity=_picked(0.55, "verdict")
        ),
    )
    drawing.add(
        "ratios",
        rows,
        lambda chart: chart.mark_point(size=52, strokeWidth=1.5, filled=False).encode(
            x=value,
            y=y,
            color=colour,
            fill=alt.condition("datum.verdict === 'undecided'", alt.value(theme.paper), quiet),
            shape=shape,
            opacity=_picked(1, "verdict"),
            tooltip="tip:N",
        ),
    )
    return drawing.spec(title, _ROW * max(1, len(rows)))


def _case_rows(cases: Sequence[str], titles: Mapping[str, str]) -> dict[str, str]:
    """A name for each case that no other has, in words where they tell it apart; what follows the slash is shown."""
    words = {name: f"{name.partition('/')[0]}/{naming.in_words(name, titles)}" for name in cases}
    counts = Counter(words.values())
    return {name: said if counts[said] == 1 and not said.endswith(f"/{name}") else name for name, said in words.items()}


def _round_ratios(furthest: float) -> list[float]:
    """Ticks on both sides of 1, as far as the figure reaches."""
    if furthest < 1.25:
        below, above = [0.8, 0.9, 0.95], [1.05, 1.1, 1.2]
    elif furthest < 2.5:
        below, above = [0.5, 0.7, 0.8, 0.9], [1.1, 1.25, 1.5, 2]
    else:
        below, above = [0.001, 0.01, 0.1, 0.2, 0.5], [2, 5, 10, 100, 1000]
    return [*(tick for tick in below if tick * furthest > 1), 1, *(tick for tick in above if tick < furthest)]


def models(found: Models, title: str, theme: Theme = PAGE) -> Row:
    """How many times as much as the cheapest each model takes: models and loads, a field each, the more of them down.

    What is within the margin has the colour of what is equivalent; what is dearer is the darker the dearer it is.
    """
    names = [", ".join(map(in_models.setting, load.asked)) or "this load" for load in found.loads]
    rows = [
        {
            "model": served.title,
            "load": name,
            "far": math.log2(max(1.0, served.ratio)),
            "words": f"{served.ratio:.2f}" if served.standing is not Standing.CHEAPEST else "1",
            "kind": "enough" if served.standing.good_enough else served.standing.value,
            "tip": f"{served.title}\n{name}\n{format_quantity(served.cost_s, 's')}, {served.standing.value}",
        }
        for load, name in zip(found.loads, names, strict=True)
        for served in load.served
    ]
    sides = [("model", list(found.titles.values())), ("load", names)]
    (across, columns), (down, lines) = sorted(sides, key=lambda side: len(side[1]))
    x = alt.X(
        f"{across}:N",
        sort=columns,
        axis=alt.Axis(title=None, orient="top", labelAngle=-35, labelLimit=260, ticks=False, domain=False),
    )
    y = alt.Y(f"{down}:N", sort=lines, axis=alt.Axis(title=None, labelLimit=260, ticks=False, domain=False))
    far = alt.Scale(domain=[0, 3], range=[0.12, 0.75], clamp=True)
    drawing = _Drawing(theme)
    for kind, colour in (("enough", theme.series[2]), ("dearer", theme.series[1]), ("undecided", theme.soft)):
        some = [row for row in rows if row["kind"] == kind]
        opacity = alt.value(0.45) if kind == "enough" else alt.Opacity("far:Q", scale=far, legend=None)
        drawing.add(
            kind,
            some,
            lambda chart, colour=colour, opacity=opacity: chart.mark_rect(color=colour).encode(  # type: ignore[misc]
                x=x, y=y, opacity=opacity, tooltip="tip:N"
            ),
        )
    drawing.add(
        "words", rows, lambda chart: chart.mark_text(color=theme.ink, fontSize=10).encode(x=x, y=y, text="words:N")
    )
    return drawing.spec(title, _ROW * len(lines))


# --- latency by bandwidth ---------------------------------------------------------------------------------------------


def loaded_looks(found: Sequence[Loaded], theme: Theme = PAGE) -> dict[str, tuple[str, str]]:
    """Shape and colour of each curve, by what is the same along it in words."""
    names = dict.fromkeys(naming.settings(one.fixed) for one in found)
    looks = [(_SHAPES[n % len(_SHAPES)], theme.series[n % len(theme.series)]) for n in range(len(names))]
    return dict(zip(names, looks, strict=True))


def loaded(found: Sequence[Loaded], title: str, theme: Theme = PAGE) -> Row:
    """How long an operation takes by the bandwidth that others have meanwhile, on log axes: a line a curve."""
    rows = [
        {
            "series": naming.settings(one.fixed),
            "x": point.bandwidth.median,
            "value": point.latency.median,
            "low": point.latency.median if point.latency.low is None else point.latency.low,
            "high": point.latency.median if point.latency.high is None else point.latency.high,
            "tip": f"{naming.called(one.title, one.fixed)}\n{format_quantity(point.latency.median, 's')} at "
            f"{format_quantity(point.bandwidth.median, 'B/s')}",
        }
        for one in found
        for point in one.points
        if point.bandwidth.median > 0 and point.latency.median > 0
    ]
    points = [point for one in found for point in one.points]
    looks = loaded_looks(found, theme)
    shapes, colours = ([look[part] for look in looks.values()] for part in (0, 1))
    scale = alt.Scale(type="log", nice=False, padding=10)
    x = alt.X("x:Q", scale=scale, axis=_quantity_axis("B/s", [point.bandwidth.median for point in points]))
    axis = _quantity_axis("s", [point.latency.median for point in points])
    y, low = alt.Y("value:Q", scale=scale, axis=axis), alt.Y("low:Q", scale=scale, axis=axis)
    legend = _legend(theme) if len(looks) > 1 else None
    colour = alt.Color("series:N", scale=_in_order(list(looks), colours), legend=legend)
    shape = alt.Shape("series:N", scale=_in_order(list(looks), shapes), legend=legend)
    seen = _picked(1, "series")
    drawing = _Drawing(theme)
    drawing.add(
        "loaded",
        rows,
        lambda chart: chart.mark_rule(strokeWidth=1.5).encode(x=x, y=low, y2="high:Q", color=colour, opacity=seen),
    )
    drawing.add("loaded", rows, lambda chart: chart.mark_line().encode(x=x, y=y, color=colour, opacity=seen))
    drawing.add(
        "loaded",
        rows,
        lambda chart: chart.mark_point(size=45, filled=True).encode(
            x=x, y=y, color=colour, shape=shape, opacity=seen, tooltip="tip:N"
        ),
    )
    return drawing.spec(title, _HEIGHT)


# --- who waits how long -----------------------------------------------------------------------------------------------

#: Below this a wait cannot be told from none; a log scale has no zero.
_LEAST_WAIT_S = 1e-7


@dataclass(frozen=True, slots=True)
class Wait:
    """Quantiles of how long tasks of a class wait under a policy, in seconds."""

    name: str
    policy: str
    p50: float
    p99: float
    p99_9: float


#: What the marks of `waits` show, in words for its title.
WAITS = "how long a woken task waits"
_QUANTILES = {"p50": "p50", "p99": "p99", "p99_9": "p99.9"}


def quantile_looks(theme: Theme = PAGE) -> list[tuple[str, str, str]]:
    """Name, shape and colour of each quantile of a wait."""
    return list(zip(_QUANTILES.values(), _SHAPES, theme.series, strict=False))


def waits(found: Sequence[Wait], title: str, theme: Theme = FILE) -> Row:
    """A row a policy below each class of tasks: a line from the median to p99.9, marks at both and at p99."""
    names = dict.fromkeys(name for one in found for name in (one.name, f"{one.name}/{one.policy}"))
    marks = [
        {
            "series": f"{one.name}/{one.policy}",
            "quantile": quantile,
            "value": max(_LEAST_WAIT_S, getattr(one, field)),
            "low": max(_LEAST_WAIT_S, one.p50),
            "high": max(_LEAST_WAIT_S, one.p99_9),
            "tip": f"{one.name}, {one.policy}\n{quantile} {format_quantity(getattr(one, field), 's')}",
        }
        for one in found
        for field, quantile in _QUANTILES.items()
    ]
    values = [row["value"] for row in marks]
    scale = alt.Scale(type="log", nice=False, padding=8)
    axis = _quantity_axis("s", values, orient="top", domain=False, ticks=False)
    y = _names_axis(list(names), theme)
    kinds, shapes, colours = zip(*quantile_looks(theme), strict=True)
    colour = alt.Color("quantile:N", scale=_in_order(kinds, colours), legend=_legend(theme))
    shape = alt.Shape("quantile:N", scale=_in_order(kinds, shapes), legend=_legend(theme))
    drawing = _Drawing(theme)
    drawing.add(
        "waits",
        marks,
        lambda chart: chart.mark_rule(strokeWidth=1.5, color=theme.grid).encode(
            x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", y=y
        ),
    )
    drawing.add(
        "waits",
        marks,
        lambda chart: chart.mark_point(size=52, strokeWidth=1.5, filled=False).encode(
            x=alt.X("value:Q", scale=scale, axis=axis),
            y=y,
            color=colour,
            shape=shape,
            opacity=_picked(1, "quantile"),
            tooltip="tip:N",
        ),
    )
    return drawing.spec(title, _ROW * len(names))


# --- without a browser ------------------------------------------------------------------------------------------------


def svg(spec: Row) -> str:
    """A chart as SVG; raises OutOfMemoryError where `ulimit -v` leaves too little for it."""
    require_addresses(V8_BYTES, "a figure")
    return str(vl_convert.vegalite_to_svg(spec))


def png(spec: Row) -> bytes:
    """A chart as PNG, twice the size for dense screens; raises OutOfMemoryError as `svg` does."""
    require_addresses(V8_BYTES, "a figure")
    return bytes(vl_convert.vegalite_to_png(spec, scale=2))


def files(report: Report) -> dict[str, Row]:
    """Every figure of a report by the name of its file, without its ending; those too that a page has as a table."""
    found: dict[str, Row] = {}
    for judged in report.sessions:
        for plot in judged.plots:
            if plot.x is None:
                found[plot.id] = prices(plot, FILE)
            else:
                found |= {f"{plot.id}-{part}": curves(plot, FILE, part) for part in range(len(plot.parts))}
                if not plot.parts:
                    found[plot.id] = curves(plot, FILE)
        if of_models := judged.findings.models:
            found[f"{judged.prefix}models"] = models(of_models, in_models.TITLE, FILE)
        if curves_under_load := judged.findings.loaded:
            found[f"{judged.prefix}loaded"] = loaded(curves_under_load, in_loaded.TITLE, FILE)
    for number, compared in enumerate(report.comparisons):
        cases = sorted(compared.cases, key=lambda case: (-case.ratio, case.case))
        if cases:
            found[f"ratios-{number}"] = ratios(cases, compared, f"{compared.b} against {compared.a}", FILE)
    return found
