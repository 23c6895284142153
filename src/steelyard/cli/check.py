# SPDX-License-Identifier: Apache-2.0
"""`steelyard check`: whether a change may be merged."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from steelyard.cli import _output as output
from steelyard.cli._output import Margin, Measuring
from steelyard.errors import UsageError
from steelyard.judge.comparisons import Comparisons
from steelyard.lab.check import check_files, check_folders
from steelyard.lab.compare import probe_folders
from steelyard.lab.output import write
from steelyard.settings import Settings
from steelyard.show import comparison, formats

_PASSED, _WORSE, _UNDECIDED = 0, 1, 2


def command(
    base: Path,
    new: Path,
    *selectors: str,
    margin: Margin = 0.05,
    undecided: Literal["2", "pass", "fail"] = "2",
    settings: Measuring = Settings(),
    junit: Path | None = None,
    markdown: Path | None = None,
    json: bool = False,
) -> int:
    """Say by the exit code whether NEW is worse than BASE: 0 no, 1 worse, 2 undecided or void.

    A suspected regression is measured again before it is reported.

    Parameters
    ----------
    base
        A folder of probes (measured now, interleaved with NEW), a session, or a file of another tool.
    new
        The same kind as BASE.
    selectors
        With two folders: what to measure, as in ``steelyard run``.
    undecided
        What an undecided verdict means: exit code 2, or ``pass`` (0), or ``fail`` (1).
    junit
        Write a JUnit report here.
    markdown
        Write a Markdown table for a comment here.
    json
        Print one object a case.
    """
    settings.check()
    messages = output.Terminal()
    folders = probe_folders(base, new)
    if folders is not None:
        found = check_folders(folders, selectors, settings, margin, messages)
    elif selectors:
        raise UsageError("selectors go with two folders of probes; files are compared by all cases that they share")
    else:
        found = check_files(base, new, settings, margin, messages)
    for path, name in ((junit, "junit"), (markdown, "markdown")):
        if path is not None:
            write(path, formats.modules()[name].comparisons(found))
    if json:
        output.print_json(comparison.as_json(found))
    else:
        comparison.show(found, output.console())
    return _exit_code(found, undecided)


def _exit_code(found: Comparisons, undecided: str) -> int:
    if found.void is None and any(case.worse for case in found.cases):
        return _WORSE
    if found.void is not None or not found.cases or any(case.verdict == "undecided" for case in found.cases):
        return {"2": _UNDECIDED, "pass": _PASSED, "fail": _WORSE}[undecided]
    return _PASSED
