# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: N999 - the name of the file is that of the command, and no statement has to import it
"""`steelyard import`: a session out of a file of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import steelyard
from steelyard.cli import _output as output
from steelyard.errors import SessionFileError
from steelyard.keep import imported
from steelyard.keep import session as sessions
from steelyard.show import formats


def command(
    file: Path,
    *,
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
) -> None:
    """Make a session out of a JSON file of TOOLS, for show, compare and report.

    The session says what the file does not: it has no controls, its runs were in no blocks, and its machine is
    whatever the file says of it.

    Parameters
    ----------
    file
        The file; what it is, is seen from its contents.
    output_file
        Session file to write; default: a new one in the sessions folder.
    """
    contents = sessions.contents_of(file)
    if sessions.is_session(contents):
        raise SessionFileError(f"{file} is a session already: `steelyard show {file}` shows it")
    versions = {"steelyard": steelyard.__version__}
    header, lines = imported.lines(formats.read(contents, str(file)), contents, sessions.now(), versions)
    path = output_file or sessions.new_path(header.machine.key)
    with sessions.SessionWriter.create(path, header) as writer:
        for line in lines:
            writer.append(line)
    output.say(str(path))


command.__doc__ = (command.__doc__ or "").replace("TOOLS", formats.importers())
