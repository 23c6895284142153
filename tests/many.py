# SPDX-License-Identifier: Apache-2.0
"""Folders of session files: variations of one made-up session, for what reads many."""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path

import msgspec

from steelyard.keep.session import SUFFIX, read
from steelyard.records import Line, Run, Session

WHOLE = Path(__file__).parent / "golden" / f"whole{SUFFIX}"


def lines_of(session: Session) -> list[Line]:
    """The lines of a session file, in an order in which they may stand."""
    plan = [session.plan] if session.plan else []
    end = [session.end] if session.end else []
    return [session.header, *session.skips, *session.audits, *plan, *session.runs, *session.resumed, *end]


def write(path: Path, lines: list[Line]) -> Path:
    """A session file of these lines."""
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def slower(run: Run, factor: float) -> Run:
    """A run whose values took so many times as long; those of the controls stay what they were."""
    if run.case.startswith("null/"):
        return run
    values = tuple(
        msgspec.structs.replace(value, wall_ns=max(1, round(value.wall_ns * factor))) for value in run.values
    )
    return msgspec.structs.replace(run, values=values)


@lru_cache
def _whole() -> Session:
    return read(WHOLE)


def a_variation(
    number: int, *, factor: float = 1.0, noise: float = 0.005, key: str = "0123456789ab", **environment: str
) -> list[Line]:
    """The made-up session on day ``number``, so many times slower, on another machine or in another environment."""
    base = _whole()
    header = base.header
    machine = msgspec.structs.replace(
        header.machine, key=key, environment={**header.machine.environment, **environment}
    )
    day = f"{2020 + number // 336}-{number // 28 % 12 + 1:02d}-{number % 28 + 1:02d}"
    changed = msgspec.structs.replace(header, id=f"{number:016x}", started=f"{day}T10:00:00+00:00", machine=machine)
    drawn = factor * (1 + noise * random.Random(number).gauss(0, 1))
    return [
        changed,
        *(slower(line, drawn) if isinstance(line, Run) else line for line in lines_of(base)[1:]),
    ]


def a_history(folder: Path, sessions: int = 12, change: int = 6) -> list[Path]:
    """A folder of sessions of one machine whose kernel changes, and all costs rise by a fifth with it."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        write(
            folder / f"{number:05d}{SUFFIX}",
            a_variation(number, factor=1.2 if number >= change else 1.0, kernel="6.12" if number >= change else "6.1"),
        )
        for number in range(sessions)
    ]
