# SPDX-License-Identifier: Apache-2.0
"""What commands share: where data goes and where words for people go."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, Token

from steelyard.lab.output import put, put_data, write
from steelyard.measure.conduct import Progress
from steelyard.settings import Settings, parse_margin
from steelyard.show.console import Console
from steelyard.show.progress import progress
from steelyard.show.visible import json_text, visible_lines

#: The options of measuring, as those of a command.
Measuring = Annotated[Settings, Parameter(name="*")]


def _margin(_: type, tokens: Sequence[Token]) -> float:
    return parse_margin(tokens[0].value)


#: The difference that does not matter, as an option of each command that compares.
Margin = Annotated[
    float,
    Parameter(
        name="--margin",
        converter=_margin,
        show_default=lambda share: f"{100 * share:g}%",
        help="Differences smaller than this do not matter: ``2%``. With ``0%`` nothing is equivalent.",
    ),
]
#: Wide enough for every table where the output is not a terminal.
_FILE_WIDTH = 170


def console() -> Console:
    """Standard output for people; not cut to 80 columns when it goes into a file."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else _FILE_WIDTH)


def print_json(data: object) -> None:
    """Print data for programs, indented."""
    print_data(json_text(data))


def print_data(data: str | bytes, path: Path | None = None) -> None:
    """Print data for programs, or write it into a file."""
    if path is not None:
        write(path, data)
    else:
        put_data(data if isinstance(data, str) else data.decode())


def say(sentence: str) -> None:
    """Print a sentence on standard output, as a line of its own however wide it is."""
    put(visible_lines(f"{sentence}\n"))


class Terminal:
    """The messages of the lab, on standard error."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self.console.print(sentence, soft_wrap=True)

    def progress(self, session: str, titles: Mapping[str, str]) -> AbstractContextManager[Progress]:
        """Show a bar on a terminal, a line now and then in a log."""
        return progress(self.console, session, titles)


def complain(sentence: str) -> None:
    """Say on standard error what can't be used; the command goes on without it."""
    Console(stderr=True).print(f"steelyard: left out: {sentence}", soft_wrap=True)
