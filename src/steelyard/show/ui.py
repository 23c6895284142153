# SPDX-License-Identifier: Apache-2.0
"""The pages of `steelyard ui`: made on the server, without any script, so that nothing of a session can be executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

from steelyard.judge.cases import CaseFinding
from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.judge.findings import Findings
from steelyard.judge.history import ChangePoint, History, Series
from steelyard.records import Header, Record
from steelyard.show import comparison, history, naming, reasons, void
from steelyard.show.page.markup import Markup, listed, named, table, tag
from steelyard.units import format_change, format_interval, format_quantity

_HERE = Path(__file__).parent
#: Sessions on one page; of more the newest are shown, and the filter finds the others.
MOST_ROWS = 200

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 5h14M4 5v6m9-6v3M2 11h4" '
    'stroke="#0b5c99" stroke-width="1.6" fill="none" stroke-linecap="round"/></svg>'
)


class Listed(Record, frozen=True, kw_only=True):
    """A session in the list. ``name`` identifies it in the folder; ``blocks`` is None where it is not complete.

    ``void``: its controls failed.
    """

    name: str
    header: Header
    blocks: int | None
    void: bool = False

    def matches(self, words: str) -> bool:
        """Whether every word of the filter stands somewhere in what the session says of itself."""
        machine = self.header.machine
        said = " ".join(
            [
                self.name,
                self.header.started,
                machine.key,
                *machine.facts.values(),
                machine.environment.get("kernel", ""),
                *self.header.command,
                *(case.name for case in self.header.selection),
            ]
        ).casefold()
        return all(word in said for word in words.casefold().split())


def style() -> str:
    """The style of all pages: that of the report, and what only these pages have."""
    return (_HERE / "page" / "style.css").read_text() + (_HERE / "ui.css").read_text()


def link(place: str, **arguments: str | Sequence[str]) -> str:
    """The address of a page."""
    return f"/{place}?{urlencode(arguments, doseq=True)}"


def _page(title: str, *contents: str, current: str = "") -> str:
    def entry(name: str, where: str) -> Markup:
        return tag("a", name, href=where, aria_current="page" if current == where else None)

    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · Steelyard"),
        tag("link", rel="stylesheet", href="/style.css"),
        tag("link", rel="icon", href="/icon.svg", type="image/svg+xml"),
    )
    bar = tag(
        "header",
        tag("p", "Steelyard", class_="mark"),
        tag("nav", entry("Sessions", "/"), entry("History of a case", "/history"), aria_label="pages"),
        class_="bar",
    )
    skip = tag("a", "Skip to the contents", href="#contents", class_="skip")
    body = tag("body", skip, bar, tag("main", *contents, id="contents"))
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def message(title: str, sentence: str) -> str:
    """A page that says why there is no other."""
    return _page(title, tag("h1", title), tag("p", sentence, class_="lede", role="alert"))


# --- the list ---------------------------------------------------------------------------------------------------------


def sessions(found: Sequence[Listed], words: str, total: int, folder: str, unusable: Sequence[str]) -> str:
    """The sessions of the folder that the filter leaves, newest first; two of them may be picked to be compared."""
    shown = found[:MOST_ROWS]
    counted = f"{len(found)} of {total} sessions" if words else f"{total} sessions"
    more = f"; the newest {MOST_ROWS} are shown" if len(found) > MOST_ROWS else ""
    field = _field("Filter by machine, day, kernel, case or file", "words", words, kind="search")
    rows = [tag("tr", *_session_cells(one)) for one in shown]
    head = ("", "started", "machine", "kernel", "cases", "blocks", "look at")
    listing = tag(
        "table",
        tag("caption", "sessions, newest first"),
        tag("thead", tag("tr", *(tag("th", name or "pick", scope="col") for name in head))),
        tag("tbody", *rows),
        class_="sessions",
    )
    return _page(
        "Sessions",
        tag("h1", "Sessions"),
        tag("p", f"{counted} in ", tag("code", folder), more, class_="soft"),
        tag(
            "form", field, tag("button", "Filter", type="submit"), action="/", method="get", class_="row", role="search"
        ),
        tag(
            "form",
            tag("div", listing, class_="scroll", tabindex="0", role="group", aria_label="sessions"),
            tag("button", "Compare the two that are picked", type="submit"),
            action="/compare",
            method="get",
        )
        if shown
        else tag("p", "No session has all these words."),
        *_unusable(unusable),
        current="/",
    )


def _session_cells(one: Listed) -> list[Markup]:
    header = one.header
    started = header.started[:16].replace("T", " ")
    pick = tag("input", type="checkbox", name="session", value=one.name, aria_label=f"pick the session of {started}")
    machine = header.machine
    probes = sorted({case.probe for case in header.selection})
    cases = f"{len(header.selection)}: {', '.join(probes[:3])}{' …' if len(probes) > 3 else ''}"
    return [
        tag("td", pick),
        tag("th", tag("a", started, href=link("session", session=one.name)), scope="row", class_="nowrap"),
        tag("td", machine.facts.get("cpu", "unknown"), " ", tag("code", machine.key)),
        tag("td", machine.environment.get("kernel", "unknown")),
        tag("td", cases),
        tag("td", "not complete" if one.blocks is None else str(one.blocks), " void" if one.void else "", class_="n"),
        tag("td", tag("a", "report", href=link("report", session=one.name))),
    ]


def _unusable(complaints: Sequence[str]) -> list[Markup]:
    if not complaints:
        return []
    return [tag("h2", "Files that cannot be used"), listed(complaints)]


def _field(label: str, name: str, value: str, *, kind: str = "text", choices: str | None = None) -> Markup:
    return tag(
        "label",
        label,
        tag("input", type=kind, name=name, value=value, list=choices, spellcheck="false", autocomplete="off"),
    )


# --- one session ------------------------------------------------------------------------------------------------------


def session(name: str, findings: Findings) -> str:
    """A session in short: its cases with the way to the history of each, and to the report."""
    machine = findings.machine
    rows = [
        (
            tag("a", named(naming.of_case(case), case.case), href=link("history", case=case.case)),
            format_quantity(case.main.median, case.main.unit),
            _interval(case),
            str(case.main.n),
            case.main.metric,
        )
        for case in findings.cases
        if not case.control
    ]
    return _page(
        f"Session of {findings.started[:10]}",
        tag("h1", f"Session of {findings.started[:16].replace('T', ' ')}"),
        tag(
            "p",
            f"{machine.get('cpu', 'unknown')}, machine key {findings.machine_key}, kernel "
            f"{findings.environment.get('kernel', 'unknown')}, {findings.blocks} blocks"
            f"{'' if findings.complete else ', not complete'}",
            class_="lede",
        ),
        *void.note(findings.void),
        tag("p", tag("a", "The report with all figures, claims and doubts", href=link("report", session=name))),
        table(("case", "median", "95 % interval", "n", "of"), rows, caption="each case leads to its history"),
        tag("p", tag("code", findings.path), class_="soft"),
    )


def _interval(case: CaseFinding) -> str:
    main = case.main
    if main.modes:
        return "two modes"
    return format_interval(main.low, main.high, main.median, main.unit, "–")


# --- two sessions -----------------------------------------------------------------------------------------------------


def compared(names: tuple[str, str], found: Comparisons) -> str:
    """Two sessions: a row a case, the verdict in words as well as in colour."""
    counts = {
        word: sum(case.verdict == word for case in found.cases) for word in ("different", "equivalent", "undecided")
    }
    rows = [
        (
            tag("a", named(naming.in_words(case.case, found.titles), case.case), href=link("history", case=case.case)),
            format_quantity(case.a, case.unit),
            format_quantity(case.b, case.unit),
            format_change(case.ratio),
            comparison.interval(case),
            tag("span", _verdict(case), class_=f"verdict {case.verdict}"),
        )
        for case in found.cases
    ]
    said = ", ".join(f"{count} {word}" for word, count in counts.items())
    return _page(
        "Two sessions",
        tag("h1", "Two sessions"),
        tag(
            "dl",
            *(
                tag("div", tag("dt", side), tag("dd", tag("a", name, href=link("session", session=name))))
                for side, name in zip(("a, first", "b, then"), names, strict=True)
            ),
        ),
        *void.note(found.void),
        tag(
            "p",
            f"Of {len(found.cases)} cases that both have: {said} at a margin of {100 * found.margin:g}\u00a0%. "
            f"All verdicts together hold at {100 * found.confidence:.3g}\u00a0%.",
            class_="lede",
        ),
        *([listed(map(reasons.said, found.caveats))] if found.caveats else []),
        table(("case", "a", "b", "b against a", "interval", "verdict"), rows, caption="comparison"),
        *([tag("h2", "Left out"), listed(map(reasons.said, found.left_out))] if found.left_out else []),
        tag("p", tag("a", "The report of both, with figures", href=link("report", session=list(names)))),
    )


def _verdict(case: Compared) -> str:
    """Ratio and interval stand beside it."""
    if case.verdict != "different":
        return case.verdict
    return "different, worse" if case.worse else "different"


# --- the history of a case --------------------------------------------------------------------------------------------


def ask_history(cases: Sequence[str], text: str = "", said: str | None = None) -> str:
    """The form that asks for a case, with all that the sessions have."""
    return _page(
        "History of a case",
        tag("h1", "History of a case"),
        *([tag("p", said, role="alert", class_="lede")] if said else []),
        _history_form(cases, text),
        listed(tag("a", case, href=link("history", case=case), class_="case") for case in cases),
        current="/history",
    )


def _history_form(cases: Sequence[str], text: str) -> Markup:
    field = _field("A case, or a pattern such as switch/pipe[kind=thread]", "case", text, choices="cases")
    known = tag("datalist", *(tag("option", value=case) for case in cases), id="cases")
    button = tag("button", "Show its history", type="submit")
    return tag("form", field, known, button, action="/history", method="get", class_="row", role="search")


def case_history(found: History, cases: Sequence[str], names: Mapping[str, str]) -> str:
    """A case on every machine that has measured it. ``names`` are those of the session files, by path."""
    parts = [piece for series in found.series for piece in _series(series, names)]
    note = "Machines are shown beside each other and are not ranked. " if len(found.series) > 1 else ""
    return _page(
        found.case,
        tag("h1", found.case, class_="case"),
        tag("p", f"{note}Changes smaller than {100 * found.margin:g}\u00a0% are left out.", class_="soft"),
        *parts,
        tag("h2", "Another case"),
        _history_form(cases, ""),
        current="/history",
    )


def _series(series: Series, names: Mapping[str, str]) -> list[Markup]:
    rows = [
        (
            tag("a", one.started[:16].replace("T", " "), href=link("session", session=names[one.path])),
            format_quantity(one.median, one.unit),
            format_interval(one.low, one.high, one.median, one.unit, "–"),
            str(one.n),
            f"void: {reasons.said(one.void)}" if one.void else one.facts.get("kernel", ""),
        )
        for one in reversed(series.sessions)
    ]
    change_points = [_change_point(change, series) for change in series.change_points]
    picture = tag("div", history.drawing(series), class_="scroll", tabindex="0", role="group", aria_label="curve")
    return [
        tag("h2", f"{series.machine}, machine key {series.machine_key}"),
        tag("p", f"{len(series.sessions)} sessions; {series.metric} with its 95 % interval", class_="soft"),
        tag("figure", picture),
        tag("ul", *change_points, class_="changes") if change_points else tag("p", "No change of level found."),
        *([listed(map(reasons.said, series.caveats))] if series.caveats else []),
        table(("started", "median", "95 % interval", "n", "kernel"), rows, caption="newest first"),
    ]


def _change_point(change: ChangePoint, series: Series) -> Markup:
    one = series.sessions[change.index]
    differences = [f"{item.what}: {item.before} → {item.after}" for item in change.differences]
    return tag(
        "li",
        tag("strong", f"{one.started[:16].replace('T', ' ')}", class_="failed" if change.worse else None),
        f": {history.change_in_words(change, one.unit)}{', worse' if change.worse else ''}",
        listed(differences or ["the headers on both sides are alike"]),
    )
