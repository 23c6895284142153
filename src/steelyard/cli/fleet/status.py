# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet status`: how far a fleet is."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli import _output as output
from steelyard.keep.fleet import FleetFolder
from steelyard.lab.fleet import headers, look
from steelyard.show import fleet as shown


def command(folder: Path, *, json: bool = False) -> None:
    """Show which sessions are there, which are on their way and how far, and which are not and why.

    Parameters
    ----------
    folder
        Folder of the fleet; other commands may work on it meanwhile.
    json
        Print one object a session.
    """
    found = look(FleetFolder(folder.absolute()))
    if json:
        output.print_json(shown.as_json(found))
    else:
        shown.show_status(found, headers(FleetFolder(folder.absolute()).delivered()), output.console())
