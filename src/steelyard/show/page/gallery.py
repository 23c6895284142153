# SPDX-License-Identifier: Apache-2.0
"""A gallery as static pages: an index, a page a machine, a page a mechanism over machines. Nothing in them acts."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.judge.gallery import Entry, Exhibit, Gallery, Mechanism, Row, probe_of
from steelyard.records import Publication, PublishedCase, PublishedFigure
from steelyard.show import naming
from steelyard.show.page.document import Part, document, sections
from steelyard.show.page.markup import Markup, definitions, joined, listed, named, table, tag
from steelyard.units import counted, format_interval, format_quantity

_TITLE = "Steelyard: a gallery of machines"
_FOOTER = "Made by `steelyard gallery build` from published sessions."
#: What keeps a reader from ranking what cannot be ranked.
_ORDER = (
    "The machines stand in the order of their names. Where the intervals of two machines overlap, nothing tells their "
    "figures apart; where they do not, compilers, kernels and settings may differ as well as machines."
)
_USD = "USD for 10⁹"
_USD_SAID = (
    "USD for 10⁹: what 10⁹ operations cost, one after the other on one CPU, by that CPU's share of the price of an hour"
)


def pages(of: Gallery) -> dict[str, str]:
    """The pages by their paths below the folder of the site."""
    made = {"index.html": _index(of)}
    measured = {mechanism.probe.probe for mechanism in of.mechanisms}
    for machine in of.machines:
        made[_page_of_machine(machine)] = _machine(machine, measured)
    for mechanism in of.mechanisms:
        made[_page_of_probe(mechanism.probe.probe)] = _mechanism(mechanism)
    return made


def _page_of_machine(machine: Exhibit) -> str:
    return f"machines/{machine.key}.html"


def _page_of_probe(probe: str) -> str:
    return f"mechanisms/{probe.replace('/', '-')}.html"


def _head(title: str, lede: str, *more: Markup, up: bool) -> Markup:
    back = [tag("p", tag("a", "All machines and mechanisms", href="../index.html"))] if up else []
    return joined([tag("p", "Steelyard", class_="mark"), *back, tag("h1", title), tag("p", lede, class_="lede"), *more])


# --- the index --------------------------------------------------------------------------------------------------------


def _index(of: Gallery) -> str:
    machines = table(
        ("machine", "measured", "kernel", "blocks", "cases", "sessions"),
        (
            (
                tag("a", machine.name, href=_page_of_machine(machine)),
                machine.newest.date,
                machine.newest.facts.get("kernel", "not known"),
                str(machine.newest.blocks),
                str(len(machine.newest.cases)),
                str(len(machine.sessions)),
            )
            for machine in of.machines
        ),
        numbers_from=3,
        caption="Machines",
    )
    mechanisms = listed(
        joined(
            [
                tag("a", one.called, href=_page_of_probe(one.probe.probe)),
                " ",
                tag("span", one.probe.probe, class_="case"),
                f", on {counted(len({entry.machine.key for row in one.rows for entry in row.entries}), 'machine')}",
            ]
        )
        for one in of.mechanisms
    )
    lede = (
        f"What {counted(len(of.mechanisms), 'mechanism')} cost on {counted(len(of.machines), 'machine')}: each figure "
        "a median over fresh processes with its interval, from sessions whose controls passed."
    )
    parts = [Part("machines", "Machines", machines), Part("mechanisms", "Mechanisms", mechanisms)]
    return document(_TITLE, *sections(_head("A gallery of machines", lede, up=False), parts, _FOOTER))


# --- a machine --------------------------------------------------------------------------------------------------------


def _machine(machine: Exhibit, measured: set[str]) -> str:
    of = machine.newest
    priced = of.usd_an_hour is not None
    titles = {probe.probe: probe.title for probe in of.probes if probe.title}
    metrics = {probe.probe: (probe.main, probe.metrics[probe.main]) for probe in of.probes}
    rows = []
    for case in of.cases:
        main, metric = metrics[probe_of(case.case)]
        rows.append(
            (
                _linked(case, titles, measured),
                *_cells(case.figures[main], metric.unit),
                _net(case, metric.unit),
                main.replace("_", " "),
            )
        )
    price = f" It costs {of.usd_an_hour:g} USD an hour." if priced else ""
    lede = (
        f"Measured on {of.date} in {counted(of.blocks, 'block')} of fresh processes in random order; "
        f"{of.disturbed_runs} of {of.runs} runs were disturbed.{price}"
    )
    figures = table(
        ("case", "median", "95 % interval", "runs", "less overhead", "of one"),
        rows,
        caption=f"Figures of {machine.name}",
    )
    parts = [
        Part("figures", "What things cost on it", figures),
        Part("facts", "What it is", definitions(_facts(of))),
        Part("programs", "What was run", _programs(of)),
        Part("sessions", "Its sessions", _sessions(machine)),
    ]
    head = _head(machine.name, lede, up=True)
    return document(f"{_TITLE}: {machine.name}", *sections(head, parts, _FOOTER))


def _linked(case: PublishedCase, titles: Mapping[str, str], measured: set[str]) -> Markup:
    probe = probe_of(case.case)
    words = named(naming.in_words(case.case, titles), case.case)
    return tag("a", words, href=f"../{_page_of_probe(probe)}") if probe in measured else words


def _cells(figure: PublishedFigure, unit: str) -> tuple[str, str, str]:
    """The median, its interval, and how many runs it is of; a mixture of two groups says so."""
    interval = format_interval(figure.low, figure.high, figure.median, unit, unknown="too few runs")
    mixed = "bimodal " if figure.modes > 1 else ""
    return format_quantity(figure.median, unit), f"{mixed}{interval}", str(figure.n)


def _net(case: PublishedCase, unit: str) -> str:
    """The cost less its overhead: what may be zero is at most so much."""
    net = case.net
    if net is None:
        return ""
    if net.low is None or net.high is None:
        return f"~{format_quantity(net.median, unit)}"
    if net.low <= 0:
        return f"at most {format_quantity(net.high, unit)}" if net.high > 0 else "overhead larger"
    return f"{format_quantity(net.median, unit)} {format_interval(net.low, net.high, net.median, unit)}"


def _facts(of: Publication) -> list[tuple[str, str]]:
    hired = [("hired as", of.instance)] if of.instance else []
    return [*hired, *sorted(of.facts.items())]


def _programs(of: Publication) -> Markup:
    built: dict[str, dict[str, None]] = {}
    for case in of.cases:
        built.setdefault(probe_of(case.case), {})[f"{case.compiler} {case.flags}".strip()] = None
    rows = [(probe.probe, "; ".join(built.get(probe.probe, ())), tag("code", probe.sha256[:16])) for probe in of.probes]
    return table(("probe", "compiler or runtime, and flags", "SHA-256"), rows, numbers_from=9, caption="Programs")


def _sessions(machine: Exhibit) -> Markup:
    rows = [
        (
            one.date,
            one.steelyard or "not known",
            str(one.seed),
            str(one.blocks),
            "; ".join(f"{control.name} {control.state}" for control in one.controls),
            tag("code", one.digest[:16]),
        )
        for one in machine.sessions
    ]
    heads = ("measured", "Steelyard", "seed", "blocks", "controls", "digest")
    said = tag("p", "Machines of the same facts stand as one; the newest session stands for it.")
    return joined([said, table(heads, rows, numbers_from=9, caption="Sessions")])


# --- a mechanism ------------------------------------------------------------------------------------------------------


def _mechanism(of: Mechanism) -> str:
    better = {"lower": "less is better", "higher": "more is better", "neither": "neither way is better"}
    lede = (
        f"One operation is {of.probe.operation}. Shown: {of.probe.main.replace('_', ' ')}, {better[of.metric.better]}."
    )
    priced = any(entry.usd is not None for row in of.rows for entry in row.entries)
    notes = [tag("p", _ORDER), *([tag("p", f"{_USD_SAID}.")] if priced else [])]
    title = {of.probe.probe: of.called}
    parts = [
        Part(f"case-{number}", naming.in_words(row.case, title), _row(row, of.metric.unit, priced=priced))
        for number, row in enumerate(of.rows)
    ]
    head = _head(of.called, lede, *notes, up=True)
    return document(f"{_TITLE}: {of.called}", *sections(head, parts, _FOOTER))


def _row(row: Row, unit: str, *, priced: bool) -> Markup:
    heads = ("machine", "median", "95 % interval", "runs", *([_USD] if priced else []), "measured", "compiler")
    rows = [
        (
            tag("a", entry.machine.name, href=f"../{_page_of_machine(entry.machine)}"),
            *_cells(entry.figure, unit),
            *([_usd(entry)] if priced else []),
            entry.machine.newest.date,
            entry.case.compiler,
        )
        for entry in row.entries
    ]
    return table(heads, rows, caption=row.case)


def _usd(entry: Entry) -> str:
    return "" if entry.usd is None else f"{entry.usd:.3g}"
