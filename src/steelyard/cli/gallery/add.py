# SPDX-License-Identifier: Apache-2.0
"""`steelyard gallery add`: published sessions into a gallery."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli import _output as output
from steelyard.errors import UsageError
from steelyard.lab import gallery


def command(folder: Path, *files: Path) -> None:
    """Check published sessions and copy them into a gallery, all of them or none.

    Refused are files that were changed, sessions without controls or with controls that failed, figures that no machine
    can have, and sessions that are there already. A signature beside a file (``FILE.sig``) is checked and copied, too.

    Parameters
    ----------
    folder
        The gallery; it is made if it does not exist.
    files
        What ``steelyard publish`` wrote.
    """
    if not files:
        raise UsageError("name the files to add: `steelyard publish` writes them")
    for path in gallery.add(folder, files, output.complain):
        output.say(str(path))
