# SPDX-License-Identifier: Apache-2.0
"""`steelyard simulate`: what another scheduler would do to a load."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli import _output as output
from steelyard.errors import UsageError
from steelyard.judge import simulation
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
    chart: Path | None = None,
    json: bool = False,
) -> None:
    """Simulate a load under schedulers from Linux 2.0.30 to EEVDF: what they cost, and who waits how long.

    Without a load: the loads and the policies there are.

    Parameters
    ----------
    load
        Loads of the library, TOML files of your own, or recordings by `steelyard observe --record`.
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
        Also write the tables here, as a page.
    chart
        Also draw here how long tasks wait: a file that ends with ``.svg`` or ``.png``.
    json
        Print JSON; times are in nanoseconds where the name says so, and in seconds elsewhere.
    """
    if not load:
        if json:
            output.print_json(shown.choices_as_json(simulation.library(), lab.policies()))
        else:
            shown.show_choices(simulation.library(), lab.policies(), output.console())
        return
    if runs < 1 or (cpus is not None and not 1 <= cpus <= 64):
        raise UsageError("--runs must be at least 1" if runs < 1 else "--cpus is from 1 to 64")
    if chart is not None and len(load) > 1:
        raise UsageError("--chart draws one load: name one, or leave --chart away")
    found = [
        lab.simulate(
            lab.find_load(one),
            policy,
            session=costs,
            cpus=cpus,
            length_ns=round(parse_duration(length) * 1e9) if length else None,
            seed=seed,
            runs=runs,
        )
        for one in load
    ]
    if markdown is not None:
        write(markdown, shown.markdown(found, _typed(load, policy, markdown)))
    if chart is not None:
        write(chart, shown.drawn(found[0], chart.suffix))
    if json:
        output.print_json(shown.as_json(found[0] if len(found) == 1 else found))
        return
    for one in found:
        shown.show(one, output.console())


def _typed(load: tuple[str, ...], policy: str | None, page: Path) -> str:
    """What to type for the same page."""
    return " ".join(["steelyard simulate", *load, *(["--policy", policy] if policy else []), "--markdown", str(page)])
