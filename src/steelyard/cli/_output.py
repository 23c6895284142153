# SPDX-License-Identifier: Apache-2.0
"""What commands share: where data goes and where words for people go."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console

from steelyard.measure.conduct import Progress
from steelyard.settings import Settings
from steelyard.show.plain import plain
from steelyard.show.progress import progress

#: The options of measuring, as those of a command.
Measuring = Annotated[Settings, Parameter(name="*")]
#: Wide enough for every table where the output is no terminal.
_FILE_WIDTH = 170


def console() -> Console:
    """Standard output for people; not cut to 80 columns when it goes into a file."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else _FILE_WIDTH, highlight=False, soft_wrap=False)


def print_json(data: object) -> None:
    """Print data for programs, indented."""
    text = msgspec.json.format(msgspec.json.encode(data), indent=2)
    sys.stdout.write(text.decode() + "\n")


class Terminal:
    """The messages of the lab, on standard error."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self.console.print(sentence, markup=False, soft_wrap=True)

    def progress(self, title: str) -> AbstractContextManager[Progress]:
        """Show a bar on a terminal, a line now and then in a log."""
        return progress(self.console, title)


def complain(sentence: str) -> None:
    """Say on standard error what can't be used; the command goes on without it."""
    sys.stderr.write(f"steelyard: left out: {plain(sentence)}\n")
