# SPDX-License-Identifier: Apache-2.0
"""`steelyard gallery build`: the pages of a gallery."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.lab import gallery
from steelyard.units import counted


def command(folder: Path, *, output_folder: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("site")) -> None:
    """Write static pages: an index, a page a machine, a page a mechanism over machines. They need no network.

    Machines stand in the order of their names: nothing is ranked. A file that is wrong is named and left out.

    Parameters
    ----------
    folder
        The gallery.
    output_folder
        Where the pages go; ``index.html`` is the first.
    """
    number = gallery.build(folder, output_folder, output.complain)
    output.say(f"{counted(number, 'page')}: {output_folder / 'index.html'}")
