# SPDX-License-Identifier: Apache-2.0
"""Questions to many sessions at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import SelectionError, SessionFileError
from steelyard.judge.history import History, Past, cases_like, history, past
from steelyard.judge.samples import numbers
from steelyard.keep import folder
from steelyard.keep.folder import Complain
from steelyard.keep.session import contents_of, decode, is_session

if TYPE_CHECKING:
    from steelyard.keep import query

#: Files from which other processes help: each takes about a second to start.
WORTH_PROCESSES = 500


def open_places(places: Sequence[str | Path], complain: Complain, output: Path | None = None) -> query.Sessions:
    """The sessions of these places, ready to be asked; raises SessionFileError where none can be read."""
    from steelyard.keep import query  # a history needs no SQL

    paths = folder.find(places)
    sessions = query.open_sessions(paths, numbers, complain, output)
    if not sessions.files:
        sessions.close()
        raise SessionFileError(f"none of the {len(paths)} session files can be read: the lines above say why")
    return sessions


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was found of a case in one file."""

    pasts: tuple[Past, ...]
    complaint: str | None = None


def _ask(text: str, path: Path) -> _Asked:
    """Read one file; runs in a process of its own where there are many."""
    try:
        contents = contents_of(path)
        # Most files of a large folder do not have the case: looking for its probe is much quicker than reading all.
        if text.partition("[")[0].partition("@")[0].encode() not in contents and is_session(contents):
            return _Asked(())
        session = decode(contents, str(path))
    except SessionFileError as error:
        return _Asked((), str(error))
    found = [past(session, name) for name in cases_like(session, text)]
    return _Asked(tuple(one for one in found if one is not None))


def history_of(text: str, paths: Sequence[Path], margin: float, complain: Complain) -> History:
    """The history of the one case that a name or pattern stands for; raises SelectionError unless it is one case."""
    ask = partial(_ask, text)
    if len(paths) < WORTH_PROCESSES:
        asked = list(map(ask, paths))
    else:
        with ProcessPoolExecutor(mp_context=multiprocessing.get_context("forkserver")) as pool:
            asked = list(pool.map(ask, paths, chunksize=50))
    for one in asked:
        if one.complaint:
            complain(one.complaint)
    pasts = [found for one in asked for found in one.pasts]
    names = sorted({one.case for one in pasts})
    if not names:
        raise SelectionError(
            f'no session has measured "{text}": `steelyard query "FROM cases SELECT DISTINCT case_name"` '
            "lists what they have"
        )
    if len(names) > 1:
        raise SelectionError(f'"{text}" stands for {len(names)} cases, such as {names[0]}: say which')
    return history(names[0], pasts, margin)
