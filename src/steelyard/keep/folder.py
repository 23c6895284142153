# SPDX-License-Identifier: Apache-2.0
"""Many session files: which ones a place stands for, and how to go on when some of them are malformed."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from steelyard.errors import SessionFileError
from steelyard.keep.bounded import UnreadableError, open_regular
from steelyard.keep.session import LARGEST, LONGEST_LINE, SUFFIX, decode, read, sessions_folder
from steelyard.records import End, Header, Record, Session

#: Bytes at the end of a file that surely hold its last line, if that is an end.
_LONGEST_END = 4096

#: Called with one sentence for each file that cannot be used.
Complain = Callable[[str], None]


def find(places: Sequence[str | Path]) -> list[Path]:
    """The session files that folders, globs and files stand for, by name; without a place, the sessions folder's.

    A folder stands for the session files in it and in the folders below it. Raises SessionFileError, naming the place,
    where there is none.
    """
    found: dict[Path, None] = {}
    for place in places or [sessions_folder()]:
        inside = _inside(place)
        if not inside:
            if Path(place).is_dir() or not places:
                raise SessionFileError(
                    f"there is no session in {place}: `steelyard run -o {Path(place) / 'NAME'}{SUFFIX}` makes one there"
                )
            raise SessionFileError(
                f"{place} is not a session file, folder or pattern that matches one: name one of these"
            )
        found.update(dict.fromkeys(inside))
    return list(found)


def _inside(place: str | Path) -> list[Path]:
    path = Path(place)
    if path.is_dir():
        return sorted(path.rglob(f"*{SUFFIX}"))
    if path.is_file():
        return [path]
    return [Path(name) for name in sorted(glob.glob(str(place), recursive=True)) if Path(name).is_file()]  # noqa: PTH207


def readable(paths: Sequence[Path], complain: Complain) -> Iterator[Session]:
    """Read the sessions of these files one by one; a malformed file is named in a complaint and passed over."""
    for path in paths:
        try:
            yield read(path)
        except SessionFileError as error:
            complain(str(error))


class Overview(Record, frozen=True, kw_only=True):
    """What the first and the last line of a session file say; ``end`` is None where the session is not complete."""

    path: str
    header: Header
    end: End | None


def overview(path: Path) -> Overview:
    """Look at a session file without reading its runs; raises SessionFileError as `read` does."""
    try:
        with open_regular(path, LARGEST) as file:
            first = file.readline(LONGEST_LINE + 1)
            file.seek(max(len(first), file.seek(0, os.SEEK_END) - _LONGEST_END))
            rest = file.read()
    except UnreadableError as error:
        raise SessionFileError(f"{path} {error}") from error
    last = rest.splitlines(keepends=True)[-1:] if rest.endswith(b"\n") else []
    header = decode(first, str(path)).header
    end = None
    if last and b'"end"' in last[0]:
        end = decode(first + last[0], str(path)).end
    return Overview(path=str(path), header=header, end=end)
