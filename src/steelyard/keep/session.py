# SPDX-License-Identifier: Apache-2.0
"""The session file: JSON lines that are only ever appended. A killed session loses at most the run in flight."""

from __future__ import annotations

import contextlib
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Self, TypeVar

import msgspec

from steelyard.errors import SessionFileError, UsageError
from steelyard.records import SCHEMA, Audit, End, Header, Line, Plan, Resumed, Run, Session, Skip

_T = TypeVar("_T")
SUFFIX = ".session.jsonl"
_LINE = msgspec.json.Decoder(Line)
_ENCODER = msgspec.json.Encoder()


def sessions_folder() -> Path:
    """Where sessions are kept unless one says otherwise: STEELYARD_SESSIONS, else the XDG data folder."""
    if named := os.environ.get("STEELYARD_SESSIONS"):
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "steelyard" / "sessions"


def new_path(machine_key: str) -> Path:
    """A path for a session that starts now."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    return sessions_folder() / f"{moment}-{machine_key}-{secrets.token_hex(2)}{SUFFIX}"


def newest() -> Path | None:
    """The newest session in the sessions folder; None if there is none yet."""
    return max(sessions_folder().glob(f"*{SUFFIX}"), default=None)


def latest() -> Path:
    """The same for who cannot go on without; raises SessionFileError."""
    found = newest()
    if found is None:
        raise SessionFileError(f"there is no session in {sessions_folder()} yet: `steelyard run` makes one")
    return found


class SessionWriter:
    """Appends lines and syncs each to disk, so that what is said to be kept is kept."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    @classmethod
    def create(cls, path: Path, header: Header) -> Self:
        """Start a new file; raises UsageError if it exists, for sessions are never overwritten."""
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True)
        except OSError as error:
            raise UsageError(f"{path.parent} is no folder ({error.strerror}): choose another place with -o") from error
        try:
            writer = cls(path.open("xb"))
        except FileExistsError:
            raise UsageError(f"{path} exists: sessions are never overwritten; use --resume, or another -o") from None
        except OSError as error:
            raise UsageError(f"{path} cannot be written ({error.strerror}): choose another place with -o") from error
        writer.append(header)
        return writer

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """Go on with a file after an interruption, without the line that was being written, if any."""
        file = path.open("r+b")
        contents = file.read()
        file.truncate(contents.rfind(b"\n") + 1)
        file.seek(0, os.SEEK_END)
        return cls(file)

    def append(self, line: Line) -> None:
        """Write one line; it is on disk when this returns. Raises SessionFileError when the disk is full."""
        try:
            self._file.write(_ENCODER.encode(line) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise SessionFileError(
                f"{self._file.name}: cannot write ({error.strerror}); all lines before this one are kept: "
                "make room and go on with --resume"
            ) from error

    def close(self) -> None:
        """Close the file; a session that has its end line is not written again."""
        # Whatever append could not write is tried again by closing; that it could not was said by append.
        with contextlib.suppress(OSError):
            self._file.close()

    def __enter__(self) -> Self:
        """Use as a context that closes the file."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def read(path: Path) -> Session:
    """Read a session. A last line without its newline is what a kill leaves behind and is passed over.

    Raises SessionFileError with the line number of what is malformed.
    """
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise SessionFileError(f"{path} cannot be read: {error.strerror}") from error
    return decode(contents, str(path))


def is_session(contents: bytes) -> bool:
    """Whether the first line says that this is a session file, of whatever schema."""
    try:
        first = msgspec.json.decode(contents.partition(b"\n")[0])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    return isinstance(first, dict) and first.get("type") == "session"


def decode(contents: bytes, path: str) -> Session:
    """Read a session from bytes; ``path`` is for messages and the result."""
    complete = contents[: contents.rfind(b"\n") + 1].split(b"\n")[:-1]
    lines: list[Line] = []
    for number, text in enumerate(complete, start=1):
        try:
            lines.append(_LINE.decode(text))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise SessionFileError(f"{path}:{number}: not a line of a session file: {error}") from error
    if not lines or not isinstance(lines[0], Header):
        raise SessionFileError(f"{path} is not a session file: its first line is no session header")
    header = lines[0]
    if header.schema != SCHEMA:
        raise SessionFileError(f"{path} has schema {header.schema}; this Steelyard reads schema {SCHEMA}")
    return Session(
        path=path,
        header=header,
        skips=tuple(_only(lines, Skip)),
        audits=tuple(_only(lines, Audit)),
        plan=next(iter(_only(lines, Plan)), None),
        runs=tuple(_only(lines, Run)),
        resumed=tuple(_only(lines, Resumed)),
        end=next(iter(_only(lines, End)), None),
    )


def _only(lines: list[Line], kind: type[_T]) -> list[_T]:
    return [line for line in lines if isinstance(line, kind)]


def now() -> str:
    """The present moment in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
