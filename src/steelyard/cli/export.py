# SPDX-License-Identifier: Apache-2.0
"""`steelyard export`: a session in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.errors import UsageError
from steelyard.judge.ledger import ledger
from steelyard.keep import session as sessions
from steelyard.show import formats
from steelyard.show.console import Console

_FORMATS = formats.exporters()
_STANDARD_OUTPUT = Path("-")
if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[tuple(_FORMATS)]


def command(
    session: Path | None = None,
    *,
    format_: Annotated[Format, Parameter(name="--format", show_choices=False)],
    output_file: Annotated[Path, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)] = _STANDARD_OUTPUT,
) -> None:
    """Write a session in the format of another tool.

    What a format cannot hold is left out, and said on standard error.

    Parameters
    ----------
    session
        Session file; the newest one of the sessions folder when left out.
    format_
        One of these: LIST
    output_file
        File to write; ``-`` for standard output, which takes every format that is text.
    """
    kept = sessions.read(session or sessions.latest())
    exported = formats.export(ledger(kept), format_)
    words = Console(stderr=True)
    for doubt in exported.doubts:
        words.print(doubt, soft_wrap=True)
    to = None if output_file == _STANDARD_OUTPUT else output_file
    if to is None and isinstance(exported.contents, bytes):
        raise UsageError(f"{format_} is not text: give it a file with -o FILE")
    output.print_data(exported.contents, to)


command.__doc__ = (command.__doc__ or "").replace("LIST", "; ".join(f"``{n}`` ({d})" for n, d in _FORMATS.items()))
