# SPDX-License-Identifier: Apache-2.0
"""Session files wherever they are: folders, patterns and files of this machine, or URLs that fsspec knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard.errors import SessionFileError
from steelyard.keep import fleet, folder
from steelyard.keep.folder import Complain
from steelyard.keep.session import SUFFIX, decode, read
from steelyard.keep.store import file_system, is_url
from steelyard.records import Session


def sessions(places: Sequence[str], complain: Complain) -> Iterator[Session]:
    """Read the sessions of these places one by one; a malformed one is named in a complaint and passed over.

    Raises SessionFileError, naming the place, where there is none.
    """
    local = [place for place in places if not is_url(place)]
    if local or not places:
        yield from _local(folder.find(local), complain)
    for url in (place for place in places if is_url(place)):
        yield from _remote(url, complain)


def _local(paths: Sequence[Path], complain: Complain) -> Iterator[Session]:
    """Of a fleet's folder only the sessions that count as delivered, as `fleet status` has them."""
    plans: dict[Path, str] = {}
    for path in paths:
        try:
            if (home := fleet.home_of(path)) is None:
                yield read(path)
                continue
            if home not in plans:
                plans[home] = fleet.FleetFolder(home).plan().id
            yield fleet.read_delivered(path, plans[home])
        except SessionFileError as error:
            complain(str(error))


def _remote(url: str, complain: Complain) -> Iterator[Session]:
    files = file_system(url)
    try:
        names = [url] if url.endswith(SUFFIX) else sorted(files.glob(f"{url.rstrip('/')}/**/*{SUFFIX}"))
    except OSError as error:
        raise SessionFileError(f"{url} cannot be read: {error}") from error
    if not names:
        raise SessionFileError(f"there is no session in {url}: name a folder or a file that ends in {SUFFIX}")
    for name in names:
        try:
            yield decode(files.cat_file(name), str(name))
        except OSError as error:
            complain(f"{name} cannot be read: {error}")
        except SessionFileError as error:
            complain(str(error))
