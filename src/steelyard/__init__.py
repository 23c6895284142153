# SPDX-License-Identifier: Apache-2.0
"""Steelyard weighs what it costs to run and to connect work on a computer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from steelyard.frames import Frames, Loaded

__version__ = "0.1.0"


def load(*places: str | PathLike[str], frames: Frames | None = None) -> Loaded:
    """Sessions as data frames and charts, for notebooks and scripts.

    ``places`` are session files, folders and patterns; the sessions folder when left out. ``frames`` names the library
    of the frames; pandas when left out, or polars where only that is installed. A malformed file among others is left
    out with a warning that names it. Raises SessionFileError where no session is left.
    """
    # Importing the package for its command line must not wait for the libraries of the frames.
    from steelyard.frames import load_places

    return load_places(places, frames)
