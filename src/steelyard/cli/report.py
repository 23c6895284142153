# SPDX-License-Identifier: Apache-2.0
"""`steelyard report`: sessions as a page, and as figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._output import Margin
from steelyard.errors import UsageError
from steelyard.judge import rules
from steelyard.judge.report import report
from steelyard.keep import session as sessions
from steelyard.lab import studies as lab_studies
from steelyard.lab.output import write
from steelyard.show import charts, html
from steelyard.show.console import Console

#: Sessions of one page go by letters.
_MOST = 26


def command(
    *session: Path,
    output_file: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("report.html"),
    figures: Path | None = None,
    margin: Margin = 0.02,
    studies: list[Path] | None = None,
) -> None:
    """Make a page that needs no network: price list, curves, claims, comparison, doubts, and how to repeat it.

    Parameters
    ----------
    session
        Session files; the newest one of the sessions folder when left out. The first of several is what the others
        of its machine are compared with; those of other machines stand beside it and are not ranked.
    output_file
        Where the page goes.
    figures
        Also write every figure as SVG and PNG into this folder.
    studies
        A folder of a study of your own, or of several; may be repeated. Those that STEELYARD_STUDIES names and those in
        the data folder (``~/.local/share/steelyard/studies``) are read without being named.
    """
    if len(session) > _MOST:
        raise UsageError(f"a page holds at most {_MOST} sessions, one a letter: ask `steelyard query` of more")
    library = lab_studies.library(studies or [])
    made = report([sessions.read(path) for path in session or (sessions.latest(),)], margin=margin, library=library)
    outcomes = rules.check(made)
    write(output_file, html.page(made, outcomes).encode())
    if figures is not None:
        for name, drawn in charts.files(made).items():
            write(figures / f"{name}.svg", charts.svg(drawn).encode())
            write(figures / f"{name}.png", charts.png(drawn))
    for outcome in outcomes:
        for line in outcome.broken:
            Console(stderr=True).print(f"rule {outcome.number} of 12 is not kept: {line}", soft_wrap=True)
    words = output.console()
    if figures is not None:
        words.print(str(figures), soft_wrap=True)
    words.print(str(output_file), soft_wrap=True)
