# SPDX-License-Identifier: Apache-2.0
"""A load under several schedulers: for people on a terminal, as a page, as a picture, and as objects for programs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from steelyard.errors import UsageError
from steelyard.judge.simulation import KERNEL, ClassSeen, Costs, Fitted, Load, Quantiles, Seen, Simulated
from steelyard.show import charts
from steelyard.show.console import Console, grid, words
from steelyard.show.markdown import table as markdown_table
from steelyard.show.markdown import text
from steelyard.units import counted, format_duration, format_interval, format_quantity

_NOTHING = "–"
_RECORDED = "recorded"
#: Figures of fewer wake-ups than this have no p99.9 that means anything: ten are expected beyond it.
_ENOUGH = {"p99_ns": 1000, "p99_9_ns": 10_000}
_WHOLE_HEAD = ("policy", "lost to scheduling", "CPU used", "switches/s", "taken away/s", "run queue", "99 %", "longest")
_CLASS_HEAD = (
    "tasks", "policy", "CPUs", "fairness", "wake-up p50", "p99", "p99.9", "longest", "done after p50", "p99", "p99.9"
)  # fmt: skip


class _Policy(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def alias(self) -> str: ...
    @property
    def title(self) -> str: ...


def show_choices(loads: Mapping[str, Load], policies: Sequence[_Policy], console: Console) -> None:
    """The loads and the policies there are."""
    table = grid(("load", "what it is"))
    for name, load in loads.items():
        table.add_row(words(name, style="cyan"), load.title)
    console.print(table)
    console.print()
    table = grid(("policy", "or", "what it is"))
    for policy in policies:
        table.add_row(words(policy.name, style="cyan"), policy.alias, policy.title)
    table.add_row(words(KERNEL, style="cyan"), "", "this machine's own: the load is done for real")
    console.print(table)
    console.print()
    console.print("`steelyard simulate LOAD --policy changed,eevdf` simulates one; a file of your own is a load too.")


def choices_as_json(loads: Mapping[str, Load], policies: Sequence[_Policy]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "loads": [{"load": name, **msgspec.to_builtins(load)} for name, load in loads.items()],
        "policies": msgspec.to_builtins(policies),
    }


def as_json(found: Simulated) -> Any:
    """All of it."""
    return msgspec.to_builtins(found)


def show(found: Simulated, console: Console) -> None:
    """The tables, and last what they say."""
    console.print(words((found.title, "bold"), f"  ({found.load})"))
    console.print(_of_what(found), style="dim")
    console.print()
    for title, head, rows in _tables(found):
        if title:
            console.print(title, style="bold")
        table = grid(head, set(head) - {"policy", "tasks", "figure"})
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()
    for sentence in sentences(found):
        console.print(sentence)
    for reason in found.left_out:
        console.print(f"left out: {reason}")


def markdown(found: Simulated) -> str:
    """The tables as a section of a page."""
    parts = [f"## {text(found.title)}\n", f"{text(_of_what(found))}\n"]
    for title, head, rows in _tables(found):
        if title:
            parts.append(f"\n### {title[0].upper()}{title[1:]}\n")
        cells = [tuple(text(cell) for cell in row) for row in rows]
        parts += markdown_table(head, cells, set(head) - {"policy", "tasks", "figure"})
        parts.append("")
    parts += [f"- {text(sentence)}" for sentence in sentences(found)]
    return "\n".join(parts) + "\n"


def _of_what(found: Simulated) -> str:
    """Length, seeds and costs in a line."""
    first = next((runs[0] for runs in found.runs.values()), None)
    said = []
    if first is not None:
        said.append(f"{format_duration(first.seconds)} on {counted(first.cpus, 'CPU')}")
    if len(found.seeds) > 1:
        said.append(f"{len(found.seeds)} runs of each policy; shown is that of seed {found.seeds[0]}")
    said.append(_costs(found.costs, found.costs_from))
    return "; ".join(said)


def _costs(costs: Costs, origin: str) -> str:
    if costs.nothing:
        return origin
    return (
        f"{origin}: {costs.entry_ns} ns a call, {costs.search_ns} ns a task looked at, {costs.recalculation_ns} ns one "
        f"recalculated, {costs.change_ns} ns a switch"
    )


Table = tuple[str, Sequence[str], list[tuple[str, ...]]]


def _tables(found: Simulated) -> list[Table]:
    tables: list[Table] = []
    if found.yields:
        tables.append(_yields(found))
    if found.runs:
        tables.append(("", _WHOLE_HEAD, _wholes(found)))
    if any(runs[0].classes for runs in found.runs.values()):
        tables.append(("by class of tasks", _CLASS_HEAD, _classes(found)))
    if found.against:
        tables.append(_against(found))
    if found.fitted:
        tables.append(_fit(found.fitted))
    return tables


def _yields(found: Simulated) -> Table:
    names = list(found.titles)
    rows = []
    for contexts in dict.fromkeys(one.contexts for one in found.yields):
        at = {one.policy: one for one in found.yields if one.contexts == contexts}
        cells = (
            f"{format_quantity(at[name].yield_s, 's')} ({100 * at[name].switched_fraction:.0f} %)" for name in names
        )
        rows.append((str(contexts), *cells))
    return "time of a yield, and how many of them switch", ("contexts", *names), rows


def _wholes(found: Simulated) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    if found.recorded and found.recorded.length_ns:
        of = found.recorded
        switches = f"{of.switches / of.length_ns * 1e9:.0f}"
        median = _NOTHING if of.median_runnable is None else str(of.median_runnable)
        rows.append((_RECORDED, _NOTHING, _NOTHING, switches, _NOTHING, median, _NOTHING, _NOTHING))
    for name, runs in found.runs.items():
        one = runs[0]
        rows.append(
            (
                name,
                _NOTHING if one.overhead_share is None else _percent(one.overhead_share),
                _percent(one.busy_share),
                _rate(one.switches_per_s),
                _rate(one.involuntary_per_s),
                *(_NOTHING if n is None else str(n) for n in (one.median_runnable, one.p99_runnable, one.longest)),
            )
        )
    return rows


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _rate(per_s: float | None) -> str:
    return _NOTHING if per_s is None else f"{per_s:.0f}" if per_s >= 99.5 else f"{per_s:.3g}"


def _classes(found: Simulated) -> list[tuple[str, ...]]:
    names = dict.fromkeys(one.name for runs in found.runs.values() for one in runs[0].classes)
    rows = []
    for name in names:
        for policy, runs in found.runs.items():
            one = runs[0].share_of(name)
            if one is not None and (one.busy_share > 0 or one.wake_up.count):
                rows.append((name, policy, *_class(one)))
    return rows


def _class(one: ClassSeen) -> tuple[str, ...]:
    wake_up = [_time(one.wake_up, which) for which in ("p50_ns", "p99_ns", "p99_9_ns", "longest_ns")]
    done = [_time(one.response, which) for which in ("p50_ns", "p99_ns", "p99_9_ns")]
    return (f"{one.busy_share:.3g}", f"{one.fairness:.3f}", *wake_up, *done)


def _time(times: Quantiles, which: str) -> str:
    if times.count < _ENOUGH.get(which, 1):
        return _NOTHING
    value: float = getattr(times, which)
    return "0" if value == 0 else format_quantity(value / 1e9, "s")


def _against(found: Simulated) -> Table:
    rows: list[tuple[str, ...]] = []
    for one in found.against:
        interval = format_interval(one.ratio.low, one.ratio.high, one.ratio.median, "1", _NOTHING)
        rows.append((one.figure, one.policy, f"{one.ratio.median:.2f}", interval))
    return "simulated over this machine's kernel, run by run", ("figure", "policy", "ratio", "95 % interval"), rows


def _fit(fitted: Fitted) -> Table:
    rows = [
        (str(one.contexts), *(format_quantity(s, "s") for s in (one.measured_s, one.simulated_s)),
         f"{100 * (one.simulated_s / one.measured_s - 1):+.0f} %")
        for one in fitted.points
    ]  # fmt: skip
    title = f"costs of {fitted.policy}, fitted to a yield among processes on Linux {fitted.kernel}"
    return title, ("contexts", "measured", "by the costs", "off"), rows


# --- what it says -----------------------------------------------------------------------------------------------------


def sentences(found: Simulated) -> list[str]:
    """What a person came for: what is lost, who waits, how well the costs fit."""
    said = [*_lost(found), *_waits(found), *_kept(found)]
    if found.fitted:
        said.append(
            f"The costs give the measured curve to within {100 * found.fitted.worst:.0f} %; fitted to every second "
            f"point they predict the others to within {100 * found.fitted.worst_predicted:.0f} %. A task that old "
            "kernels recalculate is taken to cost 1.2 times one that is looked at, as in 1998: no kernel of today "
            "recalculates."
        )
    return said


def _lost(found: Simulated) -> Iterable[str]:
    lost = {name: runs[0].overhead_share for name, runs in found.runs.items()}
    known = {name: share for name, share in lost.items() if share is not None}
    if not known or found.costs.nothing:
        return
    least, most = min(known, key=lambda name: known[name]), max(known, key=lambda name: known[name])
    if known[most] - known[least] < 0.005:
        yield (
            f"It matters little which of them schedules: they take {_percent(known[least])} ({least}) to "
            f"{_percent(known[most])} ({most}) of the CPUs."
        )
    else:
        yield f"{most} takes {_percent(known[most])} of the CPUs, {least} {_percent(known[least])}."


def _waits(found: Simulated) -> Iterable[str]:
    """Of each class that is woken: under which policy it waits least, and under which most."""
    simulated = {name: runs[0] for name, runs in found.runs.items()}
    if len(simulated) < 2:
        return
    for name in dict.fromkeys(one.name for run in simulated.values() for one in run.classes):
        p99 = {
            policy: one.wake_up.p99_ns
            for policy, run in simulated.items()
            if (one := run.share_of(name)) is not None and one.wake_up.count >= _ENOUGH["p99_ns"]
        }
        if len(p99) < 2:
            continue
        least, most = min(p99, key=lambda one: p99[one]), max(p99, key=lambda one: p99[one])
        if p99[most] > 1.1 * p99[least]:
            yield (
                f"Of {name} 99 % of the wake-ups wait at most {_ns(p99[least])} under {least}, and {_ns(p99[most])} "
                f"under {most}."
            )
        else:
            yield f"{name} wait alike under all of them: 99 % of their wake-ups at most {_ns(p99[most])}."


def _ns(time: float) -> str:
    return "no time" if time == 0 else format_quantity(time / 1e9, "s")


def _kept(found: Simulated) -> Iterable[str]:
    """How near a replay comes to what was recorded."""
    of = found.recorded
    if of is None or not of.length_ns or of.median_runnable is None:
        return
    rate = of.switches / of.length_ns * 1e9
    for name, runs in found.runs.items():
        one: Seen = runs[0]
        if one.switches_per_s is not None and one.median_runnable is not None:
            yield (
                f"Replayed under {name}: {100 * (one.switches_per_s / rate - 1):+.0f} % switches; the median of the "
                f"run queue is {one.median_runnable} where {of.median_runnable} was recorded."
            )
    if of.lost:
        yield f"{of.lost} events are missing in the recording."


# --- the picture ------------------------------------------------------------------------------------------------------


def drawn(found: Simulated, ending: str) -> str | bytes:
    """How long tasks of each class wait under each policy. Raises UsageError for other endings and for nothing."""
    if ending not in (".svg", ".png"):
        raise UsageError(f'--chart draws .svg and .png, not "{ending}": give the file one of these endings')
    rows = [
        charts.Wait(name=name, policy=policy, p50=of.p50_ns / 1e9, p99=of.p99_ns / 1e9, p99_9=of.p99_9_ns / 1e9)
        for name in dict.fromkeys(one.name for runs in found.runs.values() for one in runs[0].classes)
        for policy, runs in found.runs.items()
        if (one := runs[0].share_of(name)) is not None
        for of in [one.wake_up]
        if of.count >= _ENOUGH["p99_ns"] and math.isfinite(of.p99_ns)
    ]
    if not rows:
        raise UsageError("there is nothing to draw: no class of tasks was woken 1000 times")
    spec = charts.waits(rows, found.title)
    return charts.svg(spec) if ending == ".svg" else charts.png(spec)
