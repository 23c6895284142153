# SPDX-License-Identifier: Apache-2.0
"""Published sessions, and galleries: folders of them. Whoever sends one may send anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import GalleryError
from steelyard.keep.bounded import UnreadableError, read_regular
from steelyard.keep.session import is_session
from steelyard.records import PUBLISHED_VERSION, Publication

SUFFIX = ".published.json"
#: What `ssh-keygen -Y sign` makes of a file stands beside it under its name with this ending.
SIGNATURE = ".sig"
#: Largest file that is read. A first session takes 50 kB; one of every case of every probe some 300 kB.
_LARGEST = 1 << 20
_DECODER = msgspec.json.Decoder(Publication)
#: Signs of a complaint about a file, which may quote it.
_LONGEST_REASON = 300


def contents_of(path: Path) -> bytes:
    """The bytes of a file that somebody sent; raises GalleryError if it is not a regular one, or too large."""
    try:
        return read_regular(path, _LARGEST)
    except UnreadableError as error:
        raise GalleryError(f"{path} {error}; `steelyard publish` writes what a gallery holds") from error


def decode(contents: bytes, path: str) -> Publication:
    """Read a published session; ``path`` is for messages.

    Raises GalleryError if it is anything else, or was changed by hand.
    """
    if is_session(contents):
        raise GalleryError(f"{path} is a session: `steelyard publish {path}` makes of it what a gallery holds")
    try:
        _refuse_newer(msgspec.json.decode(contents), path)
        found = _DECODER.decode(contents)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        raise GalleryError(f"{path} is not a published session: {reason}") from error
    if found.checksum != found.digest:
        raise GalleryError(f"{path} was changed after it was published: its digest is not that of its contents")
    if found.text.encode() != contents:
        raise GalleryError(f"{path} is not laid out as `steelyard publish` writes it: publish the session again")
    return found


def _refuse_newer(data: Any, path: str) -> None:
    """Say that a file is of a later version, before its fields are complained about."""
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > PUBLISHED_VERSION:
        raise GalleryError(f"{path} was published by a newer Steelyard: install that one to read it")


def files(gallery: Path) -> list[Path]:
    """The published sessions of a gallery by name, none of one that is not there yet.

    Raises GalleryError if it is not a folder.
    """
    try:
        return sorted(path for path in gallery.iterdir() if path.name.endswith(SUFFIX))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise GalleryError(f"{gallery} cannot be read as a gallery, which is a folder: {error.strerror}") from error
