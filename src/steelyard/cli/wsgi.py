# SPDX-License-Identifier: Apache-2.0
"""`steelyard wsgi`: which server should run my application."""

from __future__ import annotations

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
    """Weigh every installed server with your own WSGI application.

    The application is imported from the current folder. Only GET and HEAD requests are sent, to this machine alone.

    Parameters
    ----------
    application
        ``module:callable``, as servers take it: ``myproject.wsgi:application``.
    output_file
        Session file to write.
    json
        Print one object with all rows and the advice.
    """
    lab = Lab(selectors=["request"], messages=output.Terminal())
    finished = measure_servers(lab, application, load, settings, output_file)
    weighed = judging.weigh(finished)
    if json:
        output.print_json(weighed)
    else:
        showing.show(weighed, output.console())
        output.console().print(f"session file: {finished.path}", style="dim")
