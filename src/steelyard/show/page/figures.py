# SPDX-License-Identifier: Apache-2.0
"""A chart in the page: caption, buttons to pick series, the chart, and the same as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.judge.loaded import Loaded
from steelyard.judge.models import Models
from steelyard.judge.plots import Plot, Series
from steelyard.show import charts, naming, steps
from steelyard.show import loaded as in_loaded
from steelyard.show import models as in_models
from steelyard.show.comparison import interval, verdict
from steelyard.show.naming import PLACES
from steelyard.show.page.markup import Markup, data, fold, joined, named, table, tag
from steelyard.units import format_change, format_interval, format_quantity

_PATHS = {
    "circle": "M8 2.5a5.5 5.5 0 1 0 .01 0z",
    "square": "M3.5 3.5h9v9h-9z",
    "triangle-up": "M8 2.5l5.6 10.2H2.4z",
    "triangle-down": "M8 13.5l5.6-10.2H2.4z",
    "diamond": "M8 1.6l5 6.4-5 6.4-5-6.4z",
    "cross": "M6 2h4v4h4v4h-4v4H6v-4H2V6h4z",
}


def _swatch(shape: str, colour: str, dash: Sequence[int] = (), *, hollow: bool = False) -> Markup:
    line = (
        tag("path", d="M0 8h28", stroke=colour, stroke_width="1.8", stroke_dasharray=" ".join(map(str, dash)))
        if dash
        else Markup()
    )
    moved = "translate(6 0)" if dash else None
    return tag(
        "svg",
        line,
        tag(
            "path",
            d=_PATHS[shape],
            fill="none" if hollow else colour,
            stroke=colour if hollow else None,
            transform=moved,
        ),
        width="28" if dash else "16",
        height="16",
        aria_hidden="true",
    )


def _button(name: str, swatch: str, label: str | None = None) -> Markup:
    return tag("button", swatch, label or name, type="button", aria_pressed="false", data_series=name)


def _figure(
    name: str,
    title: str,
    note: Iterable[str],
    spec: charts.Row,
    buttons: Iterable[str],
    words: str,
    *tables: str,
    parts: Sequence[str] = (),
) -> Markup:
    """The chart is an image to a screen reader, described by its caption and by the tables below it.

    parts: of those that it can show, the first to begin with.
    """
    chosen = [
        tag("button", part, type="button", aria_pressed="true" if number == 0 else "false", data_part=str(number))
        for number, part in enumerate(parts)
    ]
    still = Markup(charts.svg(spec | {"width": 720})) if spec.get("width") == "container" else Markup()
    return tag(
        "figure",
        tag("figcaption", tag("strong", title), *note, id=f"{name}-caption"),
        *([tag("div", *chosen, class_="controls parts", role="group", aria_label="show")] if chosen else []),
        tag("div", *buttons, class_="controls", role="group", aria_label="pick series"),
        tag("div", tag("div"), class_="chart", role="img", aria_label=words, aria_describedby=f"{name}-caption"),
        tag("noscript", still),
        data(name, spec),
        *tables,
        id=name,
        data_figure=name,
    )


_SCALE = tag("button", "linear axes", type="button", class_="scale", aria_pressed="false")
_HEAD = ("case", "median", "95 % interval", "runs", "published")

#: What is drawn where each mechanism has words of its own for it.
_OF_EACH = "One operation of each mechanism, as the list below says what that is"
#: What holds for all figures of a page, said once.
READING = (
    "Wide bars and bands are 95 % intervals of the median over runs, each a process of its own.",
    "Hollow marks in pairs are the two modes of a case that costs the one or the other, and nothing between.",
    "Crosses are figures that others have published, on their machines.",
    "Dotted lines are overheads: nothing below them can be seen.",
    "All scales are logarithmic; a button of each figure makes them linear. Names above a figure pick what is shown.",
)


def prices(plot: Plot) -> Markup:
    """Prices: a row a mechanism, or a table alone where there are few."""
    rows = [
        (named(naming.of_spot(spot), spot.case), *_figures(series, number, plot.unit))
        for _, members in charts.price_order(plot)
        for series in members
        for number, spot in enumerate(series.spots)
    ]
    title = naming.title(plot)
    if not plot.drawn:
        return joined([tag("h3", title), table(_HEAD, rows, caption=title)])
    placements = list(dict.fromkeys(spot.placement for series in plot.series for spot in series.spots))
    buttons = [
        _button(name, _swatch(shape, colour), PLACES[name])
        for name, shape, colour in charts.placement_looks()
        if name in placements
    ]
    cheap, dear = _ends(plot)
    return _figure(
        plot.id,
        title,
        ["A row a mechanism, a mark a case."],
        charts.prices(plot),
        [*buttons, _SCALE],
        f"{title}: {len(plot.series)} mechanisms from {cheap} to {dear}. The table below has every figure.",
        fold(f"All {len(rows)} figures as a table", table(_HEAD, rows, caption=title)),
    )


def picture(plot: Plot) -> Markup:
    """The answers of a first session on one scale; its figures stand in the tables beside it."""
    placements = {spot.placement for series in plot.series for spot in series.spots}
    buttons = [
        _button(name, _swatch(shape, colour), PLACES[name])
        for name, shape, colour in charts.placement_looks()
        if name in placements
    ]
    cheap, dear = _ends(plot)
    title = naming.title(plot)
    words = f"{title}: {len(plot.series)} prices from {cheap} to {dear}, as in the tables above."
    return _figure(plot.id, title, [], charts.prices(plot), buttons, words)


def _figures(series: Series, number: int, unit: str) -> tuple[str, ...]:
    spot = series.spots[number]
    beside = (
        [point for point in series.reference_points if point.x == spot.x] if spot.x is not None or number == 0 else []
    )
    published = "; ".join(f"{format_quantity(point.value, unit)} ({point.source})" for point in beside[:3])
    if spot.modes:
        modes = " / ".join(format_quantity(mode.median, unit) for mode in spot.modes)
        shares = " / ".join(f"{mode.share:.0%}" for mode in spot.modes)
        return modes, f"two modes, {shares}", str(spot.n), published
    within = "–" if spot.low is None or spot.high is None else format_interval(spot.low, spot.high, spot.value, unit)
    return format_quantity(spot.value, unit), within, str(spot.n), published


def _ends(plot: Plot) -> tuple[str, str]:
    values = [spot.value for series in plot.series for spot in series.spots]
    return format_quantity(min(values), plot.unit), format_quantity(max(values), plot.unit)


def curves(plot: Plot) -> Markup:
    """Curves over a parameter."""
    looks = charts.series_looks(plot)
    buttons = [_button(name, _swatch(one.shape, one.colour, one.dash)) for name, one in looks.items()]
    rows = [
        (named(naming.of_spot(spot), spot.case), *_figures(series, number, plot.unit))
        for series in plot.series
        for number, spot in enumerate(series.spots)
    ]
    low, high = _ends(plot)
    title = naming.title(plot)
    bounds = dict.fromkeys(f" Dotted: {naming.of_bound(bound, plot.unit)}." for bound in plot.bounds)
    return _figure(
        plot.id,
        title,
        [_sentence(plot.y or _OF_EACH), *bounds, *(f" {note}" for note in plot.notes)],
        charts.curves(plot),
        [*(buttons if len(buttons) > 1 else []), _SCALE],
        f"{title}: {len(plot.series)} curves between {low} and {high}. The table below has every point.",
        fold(f"All {len(rows)} points as a table", table(_HEAD, rows, caption=title)),
        parts=[naming.settings(words) for words in plot.parts],
    )


def short_curves(plots: Sequence[Plot]) -> Markup:
    """Curves of few points, a row each: between the first and the last all of them as steps."""
    if not plots:
        return Markup()
    rows = [
        (
            named(_row_title(plot, series), series.group),
            f"{plot.metric or ''} by {plot.x}".strip(),
            _point(series, 0, plot.unit),
            steps.of(medians, medians),
            _point(series, -1, plot.unit),
        )
        for plot in plots
        for series in plot.series
        for medians in [[spot.value for spot in series.spots]]
    ]
    head = ("curves of few points", "over", "first", "", "last")
    return table(head, rows, numbers_from=2, caption="curves of few points; the table of every figure has them all")


def _row_title(plot: Plot, series: Series) -> str:
    subject = series.title or plot.subject
    return ", ".join([subject, *map(naming.setting, (*series.settings, *plot.alike))])


def _point(series: Series, number: int, unit: str) -> str:
    spot = series.spots[number]
    return f"{spot.x}: {format_quantity(spot.value, unit)}"


def _sentence(words: str) -> str:
    return f"{naming.capital(words).rstrip('.')}."


def ratios(name: str, title: str, cases: Sequence[Compared], found: Comparisons) -> Markup:
    """How cases differ between two sessions."""
    margin = found.margin
    spec = charts.ratios(cases, found, title)
    counts = {word: sum(case.verdict == word for case in cases) for word in charts.MARKS}
    colours = charts.verdict_colours()
    buttons = [
        _button(word, _swatch(shape, colours[word], hollow=word == "undecided"))
        for word, shape in charts.MARKS.items()
        if counts[word]
    ]
    rows = [
        (
            named(naming.in_words(case.case, found.titles), case.case),
            format_quantity(case.a, case.unit),
            format_quantity(case.b, case.unit),
            format_change(case.ratio),
            interval(case),
            tag("span", _verdict(case, margin), class_=f"verdict {case.verdict}"),
        )
        for case in cases
    ]
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return _figure(
        name,
        title,
        [f"{told}. The band is the margin of {100 * margin:g} %; to the right is more than in A."],
        spec,
        [*buttons, _SCALE],
        f"{title}: {told}. The table below has every ratio.",
        fold(
            f"All {len(rows)} ratios as a table",
            table(("case", "A", "B", "B against A", "interval, %", "verdict"), rows, caption=title),
        ),
    )


_GLYPHS = {"different": "◆", "equivalent": "●", "undecided": "□"}


def _verdict(case: Compared, margin: float) -> str:
    better = "" if case.verdict != "different" else (", worse" if case.worse else ", better")
    return f"{_GLYPHS[case.verdict]} {verdict(case, margin)}{better}"


def models(name: str, found: Models) -> Markup:
    """Which model serves which load; the tables beside it have the same in words."""
    return _figure(
        name,
        _sentence(in_models.TITLE).rstrip("."),
        [f" {in_models.legend(found)}"],
        charts.models(found, in_models.TITLE),
        [],
        f"{in_models.TITLE}: {len(found.titles)} models under {len(found.loads)} loads, as in the tables below.",
    )


def loaded(name: str, found: Sequence[Loaded]) -> Markup:
    """Latency by the bandwidth of others; the tables below it have the same."""
    looks = charts.loaded_looks(found)
    return _figure(
        name,
        _sentence(in_loaded.TITLE).rstrip("."),
        ["Each point is a case; the more the others move, the further to the right."],
        charts.loaded(found, in_loaded.TITLE),
        [_button(key, _swatch(shape, colour)) for key, (shape, colour) in looks.items()] if len(looks) > 1 else [],
        f"{in_loaded.TITLE}: {len(found)} curves, as in the tables below.",
        *(table(in_loaded.HEADS, in_loaded.rows(one), caption=in_loaded.title(one)) for one in found),
    )


def waits(name: str, rows: Sequence[charts.Wait]) -> Markup:
    """How long woken tasks wait under each scheduler; the tables beside it have the same."""
    title = naming.capital(charts.WAITS)
    classes, policies = {row.name for row in rows}, {row.policy for row in rows}
    return _figure(
        name,
        title,
        ["A row a scheduler, by class of tasks, from the median to p99.9."],
        charts.waits(rows, title, charts.PAGE),
        [*(_button(kind, _swatch(shape, colour)) for kind, shape, colour in charts.quantile_looks()), _SCALE],
        f"{title}: {len(classes)} classes of tasks under {len(policies)} schedulers, as in the tables below.",
    )


def all_of(figures: Iterable[str]) -> Markup:
    """Figures one after the other."""
    return joined(figures)
