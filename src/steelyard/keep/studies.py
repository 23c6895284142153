# SPDX-License-Identifier: Apache-2.0
"""Where studies of a user are: the folders that a command names, those of STEELYARD_STUDIES, and the data folder's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard.errors import StudyError

#: A study of ten thousand entries is smaller; what is larger is none.
_LARGEST = 16 << 20


def own_folder() -> Path:
    """The folder of studies that is read without being named."""
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "steelyard" / "studies"


def folders(named: Sequence[Path] = ()) -> list[Path]:
    """The folders of the studies to read, each once. A folder that is named is one of a study or of several.

    Raises StudyError, naming the folder, where there is none or no study in it.
    """
    asked = [*named, *(Path(entry) for entry in os.environ.get("STEELYARD_STUDIES", "").split(":") if entry)]
    found: dict[Path, Path] = {}
    for place in asked:
        if not place.is_dir():
            raise StudyError(f"{place} is not a folder: name one of a study or of several")
        studies = list(_inside(place))
        if not studies:
            raise StudyError(f"{place} has no study in it: a study is a folder with a study.toml")
        found.update((study.resolve(), study) for study in studies)
    try:
        # The folder of another user, as under sudo or setpriv without a HOME of one's own, is not one's own either.
        found.update((study.resolve(), study) for study in (_inside(own_folder()) if own_folder().is_dir() else ()))
    except PermissionError as error:
        raise StudyError(f"{own_folder()} cannot be read ({error.strerror}): set HOME or XDG_DATA_HOME") from error
    return list(found.values())


def _inside(place: Path) -> Iterator[Path]:
    if (place / "study.toml").exists():
        yield place if place.name else place.resolve()
    else:
        yield from sorted(path for path in place.iterdir() if path.is_dir() and not path.name.startswith("."))


def files(folder: Path) -> dict[str, bytes]:
    """The contents of a study's files by their names. Raises StudyError for one that cannot be read."""
    found = {}
    for path in sorted(folder.glob("*.toml")):
        if not path.is_file():
            raise StudyError(f"{path} is not a regular file")
        if path.stat().st_size > _LARGEST:
            raise StudyError(f"{path} has {path.stat().st_size} bytes, and a file of a study has at most {_LARGEST}")
        try:
            found[path.name] = path.read_bytes()
        except OSError as error:
            raise StudyError(f"{path} cannot be read: {error.strerror}") from error
    return found
