# SPDX-License-Identifier: Apache-2.0
"""An observed machine on a terminal: the distribution of its run queue, its rates, its place on the curves."""

from __future__ import annotations

from steelyard.judge.placing import BENCHMARK, Placing
from steelyard.show.console import Console, grid, words
from steelyard.show.doubts import show_skips
from steelyard.units import counted, format_duration, format_quantity

_BAR_WIDTH = 40
_MOST_ROWS = 24
#: Costs that differ by less are about the same.
_ALIKE = 0.05


def show(placing: Placing, console: Console) -> None:
    """The whole observation: what was seen, the run queue, the rates, and the place on the curves."""
    seen = placing.observation
    console.print(
        f"{seen.started}, {format_duration(seen.seconds)}, {sum(seen.lengths)} samples, {seen.cpus} CPUs, "
        f"{seen.tasks} tasks, machine key {seen.machine_key}"
    )
    if seen.command:
        state = "goes on" if seen.command_status is None else f"ended with {seen.command_status}"
        console.print(f"beside {' '.join(seen.command)}, which {state}")
    console.print()
    _lengths(placing, console)
    _rates(placing, console)
    _curves(placing, console)
    _wakes(placing, console)
    console.print(place_in_words(placing))
    console.print(
        f"observing took {100 * placing.own_share:.2f} % of a CPU and {seen.own_switches} switches, not counted above",
        style="dim",
    )
    if seen.recording:
        console.print(recorded_in_words(placing))
    show_skips(placing.skips, console)


def recorded_in_words(placing: Placing) -> str:
    """By what the recording was made, and how much is missing in it."""
    seen = placing.observation
    found = seen.recording
    if found is None:
        return "nothing was recorded"
    if found.by == "tracepoints":
        missed = f"{found.lost} events are missing" if found.lost else "none is missing"
        return f"recorded by tracepoints: {found.events} events, {found.switches} switches; {missed}"
    return (
        f"recorded by /proc, the run queue every {format_quantity(seen.every_s, 's')}: which task ran and for how long "
        f"is missing, of {seen.switches} switches only the number is known ({found.why})"
    )


def _lengths(placing: Placing, console: Console) -> None:
    """One row a length up to where 99 % of the samples are; long queues in steps, so that the table stays a page."""
    lengths = placing.observation.lengths
    step = -(-(placing.p99 + 1) // _MOST_ROWS)
    last = (placing.p99 // step + 1) * step
    groups = {(first, first + step - 1): lengths[first : first + step] for first in range(0, last, step)}
    total = max(1, sum(lengths))
    console.print("tasks that run or are ready, over all CPUs", style="bold")
    table = grid(("length", "share", ""), ("length", "share"))
    for (first, final), counts in groups.items():
        share = sum(counts) / total
        name = str(first) if first == final else f"{first}–{final}"
        table.add_row(name, f"{100 * share:.1f} %", "█" * round(share * _BAR_WIDTH))
    beyond = sum(lengths[last:])
    if beyond:
        table.add_row(f"over {last - 1}", f"{100 * beyond / total:.2g} %")
    console.print(table)
    console.print(
        f"mean {placing.mean:.2f}, half of the time at most {placing.p50}, 90 % {placing.p90}, 99 % {placing.p99}, "
        f"longest {placing.longest}"
    )
    console.print()


def _rates(placing: Placing, console: Console) -> None:
    seen = placing.observation
    rest = max(0.0, placing.switches_per_s - placing.voluntary_per_s - placing.involuntary_per_s)
    console.print(
        f"switches {placing.switches_per_s:.0f} a second: {placing.voluntary_per_s:.0f} given away, "
        f"{placing.involuntary_per_s:.0f} taken away, {rest:.0f} from idle or by tasks that have ended"
    )
    console.print(f"forks {placing.forks_per_s:.1f} a second (processes and threads)")
    if seen.run_delay_s is not None:
        console.print(f"run delay {format_duration(seen.run_delay_s)} of all tasks together")
    if seen.pressure_s is not None:
        share = 100 * seen.pressure_s / max(seen.seconds, 1e-9)
        console.print(f"somebody waited for a CPU during {share:.1f} % of the time")
    console.print()


def _curves(placing: Placing, console: Console) -> None:
    if not placing.curves:
        return
    console.print(f"what a switch costs here, by {placing.session}", style="bold")
    numbers = ("here", "at your 99 %", f"at {BENCHMARK} contexts")
    table = grid(("curve", "metric", *numbers), numbers)
    for curve in placing.curves:
        far = " (end of the curve)" if curve.beyond else ""
        figures = (curve.here, curve.at_p99, curve.at_benchmark)
        named = words(*([f"{curve.title}  "] if curve.title else []), (curve.curve, "cyan"))
        table.add_row(named, curve.metric, *(format_quantity(figure, "s") for figure in figures), far)
    console.print(table)
    console.print()


def _wakes(placing: Placing, console: Console) -> None:
    if not placing.wakes:
        return
    console.print("how long a sleeper takes to run here, beside as many busy tasks", style="bold")
    numbers = ("half at most", "99 % at most")
    table = grid(("curve", *numbers), numbers)
    for one in placing.wakes:
        far = " (end of the curve)" if one.beyond else ""
        named = words(*([f"{one.title}  "] if one.title else []), (one.curve, "cyan"))
        tail = "–" if one.tail is None else format_quantity(one.tail, "s")
        table.add_row(named, format_quantity(one.here, "s"), tail, far)
    console.print(table)
    console.print()


def place_in_words(placing: Placing) -> str:
    """The sentence that says where this machine lives."""
    cpus, main = placing.observation.cpus, placing.main
    said = (
        f"Your run queue is {placing.mean:.1f} long, 99 % of the time at most {placing.p99}, over "
        f"{counted(cpus, 'CPU')}"
    )
    if main is None or placing.cpu_share is None:
        return f"{said}."
    here, there = format_quantity(main.here, "s"), format_quantity(main.at_benchmark, "s")
    alike = abs(main.at_benchmark / main.here - 1) <= _ALIKE
    against = (
        f"about what the benchmark shows at {BENCHMARK} ({there})"
        if alike
        else f"not the {there} that the benchmark shows at {BENCHMARK}"
    )
    rate = f"{placing.switches_per_s:.0f} switches a second are {100 * placing.cpu_share:.2g} % of its CPU time"
    return f"{said}: there a switch costs {here}, {against}. {rate}."
