# SPDX-License-Identifier: Apache-2.0
"""What commands share: where data goes and where words for people go."""

from __future__ import annotations

import os
import sys

import msgspec
from rich.console import Console

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
