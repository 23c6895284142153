# SPDX-License-Identifier: Apache-2.0
"""The session file: JSON lines that are only ever appended. A killed session loses at most the run in flight."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Self, TypeVar

import msgspec

from steelyard.errors import SessionFileError, UsageError
from steelyard.keep.bounded import UnreadableError, open_regular, read_regular
from steelyard.records import SCHEMA, Audit, End, Header, Line, Plan, Resumed, Run, Session, Skip

_T = TypeVar("_T")
SUFFIX = ".session.jsonl"
#: What is shown of every machine, and what is said where a file does not have it.
FACTS, ENVIRONMENT = ("cpu", "logical cpus", "memory", "hypervisor"), ("kernel",)
NOT_KNOWN = "not known"


class _Stamp(msgspec.Struct, frozen=True, tag="session", tag_field="type"):
    """What the first line of a session says whatever its schema: docs/reference/session-versions.md."""

    schema: int
    versions: dict[str, str] = {}


_LINE = msgspec.json.Decoder(Line)
_STAMP = msgspec.json.Decoder(_Stamp)
_ENCODER = msgspec.json.Encoder()
#: Longest file that is read. One line of a large session has some hundred thousand bytes: its header.
LARGEST = 128 << 20
LONGEST_LINE = 8 << 20
#: Most that the lines of a session may take in memory, as `_weight` has it: room for some 400,000 values.
_HEAVIEST = 250_000_000
#: Most places in the table of blocks and cases, which every sample is a row of.
_MOST_PLACES = 1_000_000


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
    """The newest session in the sessions folder; raises SessionFileError if there is none yet."""
    found = newest()
    if found is None:
        raise SessionFileError(f"there is no session in {sessions_folder()} yet: `steelyard run` makes one")
    return found


class SessionWriter:
    """Appends lines and syncs each to disk, so that a line that was appended survives a crash."""

    def __init__(self, file: IO[bytes], weight: int = 0) -> None:
        self._file, self._weight = file, weight

    @classmethod
    def create(cls, path: Path, header: Header) -> Self:
        """Start a new file; raises UsageError if it exists, for sessions are never overwritten."""
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True)
        except OSError as error:
            raise UsageError(
                f"{path.parent} is not a folder ({error.strerror}): choose another place with -o"
            ) from error
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
        return cls(file, sum(weight for _, weight in _weighed(io.BytesIO(contents), str(path))))

    def append(self, line: Line) -> None:
        """Write one line; it is on disk when this returns.

        Raises SessionFileError when the disk is full, or the session so large that it could not be read again.
        """
        data = _ENCODER.encode(line) + b"\n"
        self._weight += _weight(line, len(data))
        if isinstance(line, Run) and self._weight > _HEAVIEST:
            raise SessionFileError(f"{self._file.name} holds as many runs as a session may; all of them are kept")
        try:
            self._file.write(data)
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
        with open_regular(path, LARGEST) as file:
            return _decode(file, str(path))
    except UnreadableError as error:
        raise SessionFileError(f"{path} {error}") from error
    except OSError as error:
        raise SessionFileError(f"{path} cannot be read: {error.strerror}") from error


def contents_of(path: Path) -> bytes:
    """The bytes of a session file; raises SessionFileError if it is not a regular file, or one that is too large."""
    try:
        return read_regular(path, LARGEST)
    except UnreadableError as error:
        raise SessionFileError(f"{path} {error}") from error


def is_session(contents: bytes) -> bool:
    """Whether the first line says that this is a session file, of whatever schema."""
    try:
        first = msgspec.json.decode(contents.partition(b"\n")[0])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    return isinstance(first, dict) and first.get("type") == "session"


def decode(contents: bytes, path: str) -> Session:
    """Read a session from bytes; ``path`` is for messages and the result. Raises SessionFileError as `read` does."""
    return _decode(io.BytesIO(contents), path)


def _decode(file: IO[bytes], path: str) -> Session:
    """Read a session line by line: to hold the bytes of a large one as well would double the memory.

    What readers of a session rely on is checked here, once: what each line is, and that lines agree with each other.
    Raises SessionFileError.
    """
    lines, weight = [], 0
    for line, heavy in _weighed(file, path):
        lines.append(line)
        weight += heavy
        if weight > _HEAVIEST:
            raise SessionFileError(f"{path} holds more than a session may: {len(lines)} lines fill the memory")
    if not lines or not isinstance(lines[0], Header):
        raise SessionFileError(f"{path} is not a session file: its first line is not a session header")
    session = Session(
        path=path,
        header=_with_facts(lines[0]),
        skips=tuple(_only(lines, Skip)),
        audits=tuple(_only(lines, Audit)),
        plan=next(iter(_only(lines, Plan)), None),
        runs=tuple(_only(lines, Run)),
        resumed=tuple(_only(lines, Resumed)),
        end=next(iter(_only(lines, End)), None),
    )
    if wrong := _contradiction(lines, session):
        raise SessionFileError(f"{path} is not a session that was measured: {wrong}")
    return session


def _weighed(file: IO[bytes], path: str) -> Iterator[tuple[Line, int]]:
    """The whole lines with what each takes in memory; raises SessionFileError on what is not a line of a session."""
    for number in itertools.count(1):
        text = file.readline(LONGEST_LINE)
        if len(text) == LONGEST_LINE:
            raise SessionFileError(f"{path}:{number}: not a line of a session file: it is longer than any")
        if not text.endswith(b"\n"):
            return
        if number == 1:
            _refuse_other_schemas(text, path)
        try:
            line = _LINE.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise SessionFileError(f"{path}:{number}: not a line of a session file: {error}") from error
        yield line, _weight(line, len(text))


def _refuse_other_schemas(first: bytes, path: str) -> None:
    """Raise SessionFileError if the first line is that of another schema, whose other lines may be anything."""
    try:
        stamp = _STAMP.decode(first)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return  # what is wrong with it is said where it is read as a line
    writer = stamp.versions.get("steelyard", "of its time")
    advice = f"install Steelyard {writer}, which wrote it, or a later one"
    if stamp.schema < SCHEMA:
        advice = f"read it with Steelyard {writer}, which wrote it, or measure again with `steelyard run`"
    if stamp.schema != SCHEMA:
        raise SessionFileError(f"{path} has schema {stamp.schema}; this Steelyard reads schema {SCHEMA}: {advice}")


def _weight(line: Line, size: int) -> int:
    """About how many bytes a line of ``size`` bytes takes when it is read; found by measuring."""
    if not isinstance(line, Run):
        return 30 * size
    entries = sum(len(v.counts) + len(v.readings) + 8 * (v.counters is not None) for v in line.values)
    entries += 2 * sum(len(histogram.buckets) for histogram in line.histograms)
    return 500 + 2 * size + 400 * len(line.values) + 100 * entries


def _contradiction(lines: list[Line], session: Session) -> str | None:
    """How the lines of a session contradict each other; None where they agree."""
    for kind in (Header, Plan, End):
        if len(_only(lines, kind)) > 1:
            return f"it has two lines of type {kind.__struct_config__.tag}"
    if session.end is not None and not isinstance(lines[-1], End):
        return "it goes on after its end"
    return _of_header(session.header) or _of_runs(session)


def _with_facts(header: Header) -> Header:
    """The header in which the facts that readers show and the file lacks are marked as not known."""
    machine = header.machine
    facts, environment = dict.fromkeys(FACTS, NOT_KNOWN), dict.fromkeys(ENVIRONMENT, NOT_KNOWN)
    if machine.facts.keys() >= facts.keys() and machine.environment.keys() >= environment.keys():
        return header
    full = msgspec.structs.replace(
        machine, facts={**facts, **machine.facts}, environment={**environment, **machine.environment}
    )
    return msgspec.structs.replace(header, machine=full)


def _of_header(header: Header) -> str | None:
    if moment_of(header.started) is None:
        return f"it was begun at {header.started[:40]!r}, which is not a moment with a time zone"
    for name, facts in header.probes.items():
        metrics = [metric.name for metric in facts.descriptor.metrics]
        if not metrics or len(set(metrics)) < len(metrics):
            return f"probe {name!r} has no metric, or two of one name"
    return None


def moment_of(text: str) -> datetime | None:
    """A moment from its text in ISO 8601 with a time zone; None if no session can have begun at it."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo and 1970 <= moment.year < 5000 else None


def _of_runs(session: Session) -> str | None:
    header, plan = session.header, session.plan
    planned = {one.case.name: one.case for one in plan.cases} if plan else {}
    if plan and len(planned) < len(plan.cases):
        return "a case stands twice in its plan"
    for case in (*header.selection, *header.controls, *planned.values()):
        if case.probe not in header.probes:
            return f"case {case.name!r} is of a probe that the header does not describe"
    blocks = 0
    for run in session.runs:
        # The pilot also runs what then does not come into the plan.
        if run.role != "pilot" and run.case not in planned:
            return f"a run is of case {run.case!r}, which is not in its plan"
        if run.role == "block":
            blocks = max(blocks, run.block)
            if run.block == 0:
                return f"a run of case {run.case!r} is in block 0: blocks are counted from 1"
    return f"it has {blocks} blocks of {len(planned)} cases" if blocks * len(planned) > _MOST_PLACES else None


def _only(lines: list[Line], kind: type[_T]) -> list[_T]:
    return [line for line in lines if isinstance(line, kind)]


def now() -> str:
    """The present moment in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
