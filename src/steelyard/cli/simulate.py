# SPDX-License-Identifier: Apache-2.0
"""`steelyard simulate`: what another scheduler would do to a load."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

import msgspec

from steelyard.cli import _output as output
from steelyard.errors import LoadError, UsageError
from steelyard.judge import simulation
from steelyard.judge.simulation import HERE, Simulated
from steelyard.lab import simulate as lab
from steelyard.lab.output import write
from steelyard.show import simulation as shown
from steelyard.units import parse_duration


def command(
    *load: str,
    policy: str | None = None,
    costs: Path | None = None,
    cpus: int | None = None,
    length: str | None = None,
    seed: int | None = None,
    runs: int = 1,
    markdown: Path | None = None,
    report: Path | None = None,
    chart: Path | None = None,
    json: bool = False,
) -> None:
    """Simulate a load under schedulers from Linux 2.0.30 to EEVDF: what they cost, and who waits how long.

    Without a load: the loads and the policies there are.

    Parameters
    ----------
    load
        Loads of the library, TOML files of your own, or recordings by `steelyard observe --record`. ``here`` records
        what this machine does now, for a minute or ``--length``, and replays it.
    policy
        Policies with commas between: ``linux_2_0_30,changed,sorted,o1,cfs,eevdf``. ``kernel`` does the load for real,
        by the kernel of this machine, and holds the simulated ones against it; ``all`` is every simulated one.
    costs
        Session that says what scheduling costs on a machine, by `switch/yield`. When left out: the load's own costs, or
        else the newest session of the sessions folder.
    cpus
        CPUs of the simulated machine, if not as many as the load says.
    length
        How long the load lasts, such as ``10s``, if not as long as it says.
    seed
        Seed of the random times of the load.
    runs
        How often each policy has the load, each time with another seed; from 6 on there are intervals.
    markdown
        Also write the tables here, in Markdown.
    report
        Also write everything as a page here, with its figures.
    chart
        Also draw here how long tasks wait: a file that ends with ``.svg`` or ``.png``.
    json
        Print JSON; times are in nanoseconds where the name says so, and in seconds elsewhere.
    """
    if not load:
        _list(json=json)
        return
    if runs < 1 or (cpus is not None and not 1 <= cpus <= 64):
        raise UsageError("--runs must be at least 1" if runs < 1 else "--cpus is from 1 to 64")
    if chart is not None and len(load) > 1:
        raise UsageError("--chart draws one load: name one, or leave --chart away")
    if report is not None or chart is not None:
        from steelyard.show import html  # before the time is spent: what draws may not be installed
    length_ns = round(parse_duration(length) * 1e9) if length else None

    def simulated(asked: str, folder: Path) -> Simulated:
        meant = lab.record(folder, policy, length_ns) if asked == HERE else lab.find_load(asked)
        found = lab.simulate(meant, policy, session=costs, cpus=cpus, length_ns=length_ns, seed=seed, runs=runs)
        return msgspec.structs.replace(found, load=HERE) if asked == HERE else found

    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        found = [simulated(one, Path(folder)) for one in dict.fromkeys(load)]
    if not any(one.runs or one.yields for one in found):
        raise LoadError("; ".join(f"{one.load}: {reason}" for one in found for reason in one.left_out))
    options = {
        "policy": policy, "costs": costs, "cpus": cpus, "length": length, "seed": seed,
        "runs": runs if runs > 1 else None,
    }  # fmt: skip
    if markdown is not None:
        write(markdown, shown.markdown(found, _typed(load, {**options, "markdown": markdown})))
    if report is not None:
        write(report, html.simulation_page(found, _typed(load, {**options, "report": report})).encode())
    if chart is not None:
        write(chart, shown.drawn(found[0], chart.suffix))
    if json:
        output.print_json(shown.as_json(found[0] if len(found) == 1 else found))
        return
    console = output.console()
    for number, one in enumerate(found):
        if number > 0:
            console.print()
        shown.show(one, console)
    if report is not None:
        console.print(str(report), soft_wrap=True)


def _list(*, json: bool) -> None:
    """The loads and the policies there are."""
    if json:
        output.print_json(shown.choices_as_json(simulation.library(), lab.policies()))
    else:
        shown.show_choices(simulation.library(), lab.policies(), output.console())


def _typed(load: tuple[str, ...], options: dict[str, object]) -> str:
    """What to type for the same page."""
    given = [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
    return shlex.join(["steelyard", "simulate", *load, *given])
