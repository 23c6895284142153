# SPDX-License-Identifier: Apache-2.0
"""One application over many servers, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from steelyard.judge.servers import DECIDES, AdviceOutcome, Knee, ServerRow, Weighed
from steelyard.show import reasons, void
from steelyard.show.console import Console, grid, words
from steelyard.units import format_change, format_duration, format_quantity


def show(weighed: Weighed, console: Console) -> None:
    """Whether the server matters, the table, what each server does wrong, and what may be recommended."""
    names = _names(weighed)
    weighed = in_titles(weighed)
    void.show(weighed.void, console)
    console.print(f"{weighed.application} {weighed.path} over its servers", style="bold")
    if weighed.void is None:
        console.print(matters(weighed), soft_wrap=True)
    console.print()
    _table(weighed, console)
    _notes(weighed, console)
    if names:
        console.print(words(f"--server takes {names}"))
    _wrong(weighed, console)
    _doubts(weighed, console)
    if weighed.skipped:
        console.print()
        console.print("not weighed", style="bold")
        for server, reason in weighed.skipped.items():
            console.print(f"  {server}: {reason}", style="dim")
    _advice(weighed, console)


def in_titles(weighed: Weighed) -> Weighed:
    """The same with what people call each server in place of its name."""
    called = {row.server: row.title or row.server for row in weighed.rows}

    def all_of(servers: Sequence[str]) -> tuple[str, ...]:
        return tuple(called.get(server, server) for server in servers)

    def row_of(row: ServerRow) -> ServerRow:
        return msgspec.structs.replace(row, server=called.get(row.server, row.server))

    advice = weighed.advice
    return msgspec.structs.replace(
        weighed,
        rows=tuple(map(row_of, weighed.rows)),
        cheapest=row_of(weighed.cheapest) if weighed.cheapest else None,
        dearest=row_of(weighed.dearest) if weighed.dearest else None,
        advice=msgspec.structs.replace(
            advice,
            servers=all_of(advice.servers),
            candidate=called.get(advice.candidate, advice.candidate) if advice.candidate else None,
            faster=all_of(advice.faster),
            equal=all_of(advice.equal),
            slower=all_of(advice.slower),
            undecided=all_of(advice.undecided),
            lower_tail=all_of(advice.lower_tail),
        ),
    )


def _names(weighed: Weighed) -> str:
    """The names of those servers that are called otherwise."""
    pairs = {row.server.partition(",")[0]: row.title.partition(",")[0] for row in weighed.rows}
    return ", ".join(f"{name} for {title}" for name, title in pairs.items() if title not in ("", name))


def knee(found: Knee, console: Console) -> None:
    """Where more workers and threads gain nothing, and gunicorn's formula beside it."""
    row = found.row
    rate = _quantity(row.requests_per_s, "1/s")
    said = f"{row.title or row.server}, with {rate}: more gains nothing here"
    console.print(words(("the knee: ", "bold green"), said))
    if found.formula is not None and found.formula_times is not None and found.formula is not row:
        formula = found.formula.title or found.formula.server
        console.print(f"  gunicorn's formula, {formula}, answers {found.formula_times:.2f} times as many")
    if found.undecided:
        console.print(f"  whether {_and(found.undecided)} would do is undecided")


def matters(weighed: Weighed) -> str:
    """Whether the server decides what a request costs, or the application does."""
    cheapest, dearest = weighed.cheapest, weighed.dearest
    if cheapest is None or dearest is None or not cheapest.cpu_s or not dearest.cpu_s:
        return "No server could be measured: the reasons stand below."
    if cheapest.own_share is None or weighed.alone_s is None:
        return "How much of a request is your code's is not known: the application alone could not be measured."
    own = f"Your code is {cheapest.own_share:.0%} of the CPU time of a request ({_quantity(weighed.alone_s, 's')} of"
    own = f"{own} {_quantity(cheapest.cpu_s, 's')} with {cheapest.server}"
    if cheapest is not dearest:
        own = f"{own}, {weighed.alone_s / dearest.cpu_s:.0%} with {dearest.server}"
    if cheapest.own_share >= DECIDES:
        return (
            f"{own}): no server gains over {1 - cheapest.own_share:.0%} on {cheapest.server}. Make your code cheaper."
        )
    if cheapest is dearest:
        return f"{own})."
    return f"{own}): the server matters, as the dearest takes {dearest.cpu_s / cheapest.cpu_s:.1f} times the cheapest."


def _table(weighed: Weighed, console: Console) -> None:
    numbers = ("requests", "against", "CPU a request", "own", "p50", "p99", "resident", "ready in")
    table = grid(("server", *numbers), numbers, names={"server": ""})
    for row in weighed.rows:
        if row.cpu_s is not None:
            table.add_row(words((row.server, "cyan"), _marks(row)), *_cells(row))
    console.print(table)


def _marks(row: ServerRow) -> str:
    return f"{'*' if row.development else ''}{' †' if row.formula else ''}"


def _cells(row: ServerRow) -> list[str]:
    return [
        _quantity(row.requests_per_s, "1/s"),
        _against(row),
        _quantity(row.cpu_s, "s"),
        "" if row.own_share is None else f"{row.own_share:.0%}",
        _quantity(row.p50_s, "s"),
        _quantity(row.p99_s, "s"),
        _quantity(row.resident_bytes, "B"),
        _quantity(row.ready_s, "s"),
    ]


def _against(row: ServerRow) -> str:
    """The verdict beside each server: how it compares with the one that all are compared with."""
    if row.against is None:
        return ""
    match row.against.verdict:
        case "different":
            return format_change(row.against.ratio)
        case "equivalent":
            return "equal"
        case _:
            return "undecided"


def _notes(weighed: Weighed, console: Console) -> None:
    """What the columns and the marks of the table mean."""
    if weighed.advice.candidate is not None:
        said = f"against: its requests against those of {weighed.advice.candidate}, block by block"
        console.print(words(f"{said}; own: the share of your code. p50, p99: of clients that wait for each answer"))
    if development := [row.server for row in weighed.rows if row.development]:
        console.print(words(f"* {', '.join(development)}: for development, not for production; never recommended"))
    if any(row.formula for row in weighed.rows):
        console.print("† 2 × CPUs + 1 workers, as gunicorn's documentation advises")


def _quantity(value: float | None, unit: str) -> str:
    return "–" if value is None else format_quantity(value, unit)


def _wrong(weighed: Weighed, console: Console) -> None:
    """What servers do wrong, said once for all that do it."""
    by_clause: dict[str, list[str]] = {}
    for row in weighed.rows:
        for clause in (*_failures(row), *row.wrong):
            by_clause.setdefault(clause, []).append(row.server)
    if by_clause:
        console.print()
        console.print("what they do wrong with it", style="bold")
    for clause, servers in by_clause.items():
        console.print(words("  ", (_who(servers, weighed), "cyan"), f": {clause}"))


def _who(servers: Sequence[str], weighed: Weighed) -> str:
    """Several servers by name; ``all`` of them where that is so. A name with workers has a comma in it."""
    if len(servers) == len(weighed.rows) > 1:
        return "all"
    return ("; " if any("," in server for server in servers) else ", ").join(servers)


def _failures(row: ServerRow) -> list[str]:
    if row.cpu_s is None:
        return [row.failed or "it has no figure"]
    return [f"failed in {row.failed_runs} of {row.runs} runs: {row.failed}"] if row.failed_runs else []


def _doubts(weighed: Weighed, console: Console) -> None:
    by_caveat: dict[str, list[str]] = {}
    for row in weighed.rows:
        for caveat in row.caveats:
            by_caveat.setdefault(caveat, []).append(row.server)
    if by_caveat:
        console.print()
        console.print("caveats", style="bold")
    for caveat, servers in by_caveat.items():
        console.print(f"  {_who(servers, weighed)}: {caveat}")


def _advice(weighed: Weighed, console: Console) -> None:
    advice = weighed.advice
    console.print()
    if advice.servers:
        which = advice.servers[0] if len(advice.servers) == 1 else f"any of {', '.join(advice.servers)}"
        console.print(words(("recommended: ", "bold green"), f"{which}, as {because(weighed)}"))
        for server in advice.lower_tail:
            console.print(f"  but {server} has a lower p99")
    else:
        console.print(words(("no recommendation: ", "bold yellow"), because(weighed)))
        if advice.more_blocks:
            minutes = advice.more_minutes
            time = f", {format_duration(60 * minutes)}," if minutes else ""
            total = weighed.blocks + advice.more_blocks
            console.print(f"  about {advice.more_blocks} more blocks{time} may decide it (--blocks {total})")
    margin = f"{100 * weighed.margin:g} %"
    console.print(
        words(
            f"{weighed.blocks} blocks; differences below {margin} choose nothing; "
            f"verdicts hold together at {100 * weighed.confidence:g} %"
        )
    )


def because(weighed: Weighed) -> str:
    """Why a server is recommended, or why none is. The first server is that of the table: the blocks' first."""
    advice, first = weighed.advice, weighed.rows[0].server if weighed.rows else ""
    match advice.outcome:
        case AdviceOutcome.TOO_FEW:
            return "there is nothing to compare: fewer than two servers for production could be measured"
        case AdviceOutcome.VOID:
            return f"the session is void: {reasons.said_if(weighed.void)}"
        case AdviceOutcome.CONTRADICTED:
            return (
                f"{advice.candidate} was the fastest in the pilot, and {_and(advice.faster)} proved faster in the "
                "blocks: measure again"
            )
        case AdviceOutcome.UNDECIDED if advice.candidate == first:
            others = len(advice.faster + advice.equal + advice.slower)
            open_ = _and(advice.undecided) if others or len(advice.undecided) == 1 else "any other"
            return f"{first} answered the most requests, but whether it is faster than {open_} is undecided"
        case AdviceOutcome.UNDECIDED:
            pilot = f"in the blocks and {advice.candidate}, with which all were compared, in the pilot"
            question = f"whether {advice.candidate} is faster than {_and(advice.undecided)} is undecided"
            return f"{first} answered the most requests {pilot}; {question}"
        case AdviceOutcome.EQUAL:
            beyond = f", and more than {_and(advice.slower)}" if advice.slower else ""
            return f"{_and(advice.servers)} answer as many requests as each other{beyond}"
        case AdviceOutcome.FASTEST:
            return f"{advice.candidate} answers more requests than every other"


def _and(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
