# SPDX-License-Identifier: Apache-2.0
"""`steelyard choose server`: which server should run my application, and with how many workers and threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._output import Measuring
from steelyard.judge import servers as judging
from steelyard.lab.servers import Load, measure_servers
from steelyard.lab.session import Lab
from steelyard.settings import Settings
from steelyard.show import servers as showing


def command(
    application: str,
    /,
    *,
    load: Annotated[Load, Parameter(name="*")] = Load(),
    settings: Measuring = Settings(),
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: bool = False,
) -> None:
    """Weigh every installed server with your own WSGI application, then sweep the workers and threads of the best one.

    Does what ``steelyard wsgi`` does, and then finds the knee: the fewest workers and threads beyond which more gain
    nothing. With one ``--server`` it only sweeps that. A budget is for both together.

    Parameters
    ----------
    application
        ``module:callable``, as servers take it: ``myproject.wsgi:application``.
    output_file
        Session file of the sweep.
    json
        Print one object with the servers, the sweep and the knee.
    """
    lab = Lab(selectors=["request"], messages=output.Terminal())
    console = output.console()
    named, servers = load.server or [], None
    if len(named) == 1:
        best = named[0]
    else:
        if settings.budget_s is not None:
            settings = settings.with_budget_of(settings.budget_s / 2)
        servers = judging.weigh(measure_servers(lab, application, replace(load, sweep=False), settings, None))
        if not json:
            showing.show(servers, console)
            console.print()
        best = judging.to_sweep(servers)
    swept = judging.weigh(
        measure_servers(lab, application, replace(load, server=[best], sweep=True), settings, output_file)
    )
    knee = judging.knee(swept)
    if json:
        output.print_json({"servers": servers, "sweep": swept, "knee": knee})
        return
    showing.show(swept, console)
    if knee is not None:
        showing.knee(knee, console)
