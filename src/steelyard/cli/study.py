# SPDX-License-Identifier: Apache-2.0
"""`steelyard study`: a study run again, in its own tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._output import Measuring
from steelyard.cli._screen import fail_for_failures
from steelyard.errors import UsageError
from steelyard.judge.findings import judge
from steelyard.judge.replication import Replication, replicate
from steelyard.judge.studies import Library
from steelyard.keep import session as sessions
from steelyard.lab import studies as lab_studies
from steelyard.lab import study as lab
from steelyard.lab.output import write
from steelyard.settings import Settings
from steelyard.show import study as shown


def command(
    *name: str,
    every: Annotated[bool, Parameter(name="--all")] = False,
    session: Path | None = None,
    studies: list[Path] | None = None,
    short: bool = False,
    report: Path | None = None,
    settings: Measuring = Settings(),
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    resume: Path | None = None,
    json: bool = False,
) -> None:
    """Run a study again: its own tables with this machine's figures, and which of its statements hold here.

    Without a name: the studies there are, what each of them needs, and what is missing for it here.

    Parameters
    ----------
    name
        Studies, by name or the beginning of the id: ``linux-ipc``, ``wzxue``.
    every
        All studies, in one session of 38 minutes at the most.
    session
        Hold the studies against this session; nothing is measured.
    studies
        A folder of a study of your own, or of several; may be repeated. Those that STEELYARD_STUDIES names and those in
        the data folder (``~/.local/share/steelyard/studies``) are read without being named.
    short
        Print the summary alone, without tables and statements; of several studies a line each.
    report
        Also write the study as a page, here.
    output_file
        Session file to write; default: a new one in the sessions folder.
    resume
        Go on with an interrupted session of the studies.
    json
        Print JSON, figures in base units (seconds, bytes, bytes per second).
    """
    settings.check()
    draw = _drawing(report)  # before the time is spent: what draws may not be installed
    library = lab_studies.library(studies or [])
    if name and every:
        raise UsageError("--all means every study: leave the names away")
    chosen = list(library.studies) if every else lab.meant(library, name)
    measuring = settings != Settings() or output_file is not None
    if not chosen:
        if session or resume or report or short or measuring:
            raise UsageError("name a study, or give --all; `steelyard study` alone lists those there are")
        _list(library, settings, json=json)
        return
    if session is not None:
        if resume or measuring:
            raise UsageError("--session measures nothing: leave --resume and what says how to measure away")
        kept = sessions.read(session)
    elif resume is not None:
        if output_file or settings != settings.for_resuming():
            raise UsageError("--resume goes on with the plan of the session: leave other settings away")
        kept = lab.go_on(chosen, settings, resume, output.Terminal())
    else:
        settings = settings.with_budget(lab.BUDGET_OF_ALL) if every else settings
        kept = lab.measure(chosen, settings, output_file, output.Terminal())
    findings = judge(kept, library)
    found = [replicate(kept, findings, study, library) for study in chosen]
    draw(found)
    if json:
        output.print_json([shown.as_json(one) for one in found])
    else:
        _show(found, report, short=short)
    if session is None:
        fail_for_failures(findings)


def _drawing(report: Path | None) -> Callable[[list[Replication]], None]:
    """What writes the page, if one is asked for."""
    if report is None:
        return lambda _: None
    from steelyard.show import html

    return lambda found: write(report, html.study_page(found).encode())


def _list(library: Library, settings: Settings, *, json: bool) -> None:
    found = lab.outlooks(library.studies, lab.in_short_runs(settings))
    if json:
        output.print_json(shown.list_as_json(found))
    else:
        shown.show_list(found, output.console())


def _show(found: list[Replication], report: Path | None, *, short: bool) -> None:
    console = output.console()
    for one in found:
        if not short:
            shown.show(one, console)
        if len(found) == 1 or not short:
            shown.show_summary(one, console)
    if len(found) > 1:
        shown.show_overview(found, console)
    if report is not None:
        console.print(str(report), soft_wrap=True)
