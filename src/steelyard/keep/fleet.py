# SPDX-License-Identifier: Apache-2.0
"""The folder of a fleet: its plan, its order, the heartbeats of its nodes, and the sessions that came.

    fleet.json                       the plan: what every machine measures
    order.json                       which nodes, how many sessions each, by which backend; none where others place work
    sessions/TOKEN.session.jsonl     a session of each token, whole
    words/TOKEN/*.jsonl              heartbeats of the attempts at a token, one file an attempt
    incoming/                        sessions that are being brought in

A session comes in by a hard link to its final name, which exists or does not and is never replaced: so it is whole or
not there, and a token that is measured twice yields one session, on a local disk and on NFS alike.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import errno
import hashlib
import os
import re
import secrets
import socket
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from steelyard.errors import SessionFileError, StorageError, UsageError
from steelyard.keep.bounded import UnreadableError, read_regular
from steelyard.keep.session import SUFFIX, decode, read
from steelyard.records import FleetJob, FleetOrder, FleetPlan, Heartbeat, Record, Session, TokenStatus

#: Names of nodes become names of files, so they are held to what host names are made of.
_TOKEN = re.compile(r"(?P<node>[A-Za-z0-9][A-Za-z0-9._-]*)\.(?P<number>[1-9][0-9]{0,5})")
_HEARTBEAT = msgspec.json.Decoder(Heartbeat)
_ENCODER = msgspec.json.Encoder()
#: File systems that have no hard links say so by one of these.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}
_LINE = 76
#: Bringing a session in takes seconds: a file older than this was left by a process that was killed.
_TORN_S = 3600.0
#: Exit code of an attempt that got a SIGTERM.
TOLD_TO_STOP = 143
#: Most that a plan, an order or the heartbeats of an attempt have: those of ten thousand nodes are smaller.
_LARGEST_RECORD = 16 << 20
#: Most that a session in the output of a job may unpack to.
_LARGEST = 1 << 30


def token_of(node: str, number: int) -> str:
    """The token of a node's session; raises UsageError for a name that no node has."""
    token = f"{node}.{number}"
    if _TOKEN.fullmatch(token) is None:
        raise UsageError(f'"{node}" is not a name of a node: letters, digits, dots and dashes only')
    return token


def node_of(token: str) -> str:
    """The node of a token; raises UsageError for what is not a token."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise UsageError(f'"{token}" is not a token: it should be NODE.NUMBER')
    return match["node"]


def read_plan(contents: bytes, where: str) -> FleetPlan:
    """A plan from its file; raises UsageError."""
    try:
        plan = msgspec.json.decode(contents, type=FleetPlan)
        plan.settings.check()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, UsageError) as error:
        raise UsageError(f"{where} is not a plan of a fleet ({error}): `steelyard fleet plan` makes one") from error
    return plan


def write_json(record: Record) -> bytes:
    """A record as indented JSON, for people to read and change."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


class FleetFolder:
    """A fleet's folder; all that is written into it appears whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._whole: set[tuple[Path, int, int, int]] = set()

    # --- beginning ----------------------------------------------------------------------------------------------------

    def begin(self, plan: FleetPlan, order: FleetOrder | None = None) -> None:
        """Make the folder, or join one of the same plan; raises UsageError if it is of another, or ordered already."""
        self._folder(self.path)
        if not self._write_once(self.path / "fleet.json", write_json(plan)) and self.plan() != plan:
            raise UsageError(f"{self.path} is of another plan: choose another folder with -o or --to")
        if order is not None and not self._write_once(self.path / "order.json", write_json(order)):
            raise UsageError(f"{self.path} is a fleet already: `steelyard fleet resume {self.path}` goes on with it")

    def plan(self) -> FleetPlan:
        """The plan; raises UsageError where there is none."""
        try:
            return read_plan(read_regular(self.path / "fleet.json", _LARGEST_RECORD), str(self.path / "fleet.json"))
        except UnreadableError as error:
            raise UsageError(f"{self.path} is not a fleet: its fleet.json {error}") from error

    def order(self) -> FleetOrder | None:
        """What was ordered; None where others place the work. Raises UsageError if the file is malformed."""
        try:
            path = self.path / "order.json"
            return (
                msgspec.json.decode(read_regular(path, _LARGEST_RECORD), type=FleetOrder)
                if os.path.lexists(path)
                else None
            )
        except UnreadableError as error:
            raise UsageError(f"{path} {error}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{path} is not an order of a fleet: {error}") from error

    # --- sessions -----------------------------------------------------------------------------------------------------

    def session(self, token: str) -> Path:
        """Where the session of a token is, or will be."""
        return self.path / "sessions" / f"{token}{SUFFIX}"

    def delivered(self) -> dict[str, Path]:
        """The complete sessions of this plan that are in the folder, by token; other files are passed over."""
        found: dict[str, Path] = {}
        paths = sorted((self.path / "sessions").glob(f"*{SUFFIX}"))
        if not paths:
            return found  # also of a folder whose plan has not come yet
        plan = self.plan().id
        for path in paths:
            if self._is_whole(path, plan):
                found[_named(path)] = path
        return found

    def _is_whole(self, path: Path, plan: str) -> bool:
        """Whether this is the session of a token. A file that was found whole is not read again until it changes.

        All of it is read: what `fleet report` would leave out must not count as there, or it is never measured again.
        """
        try:
            state = path.lstat()
            known = path, state.st_ino, state.st_size, state.st_mtime_ns
            if known not in self._whole:
                read_delivered(path, plan)
                self._whole.add(known)
        except (OSError, SessionFileError):
            return False
        return True

    def deliver(self, token: str, contents: bytes) -> bool:
        """Bring in the session of a token; False if there is one already, which stays.

        Raises SessionFileError unless it is a complete session of this token and plan, StorageError without room.
        """
        if _TOKEN.fullmatch(token) is None:
            raise SessionFileError(f'"{token}" is not a token; the session is not taken')
        plan = self.plan().id
        check(contents, token, plan)
        self._folder(self.path / "sessions")
        there = self.session(token)
        if os.path.lexists(there) and not self._is_whole(there, plan):
            # Garbage in its place would keep the token unmeasured for ever. Nothing is deleted: somebody may want it.
            with contextlib.suppress(OSError):
                there.rename(there.with_name(f"{there.name}.unusable-{secrets.token_hex(4)}"))
        return self._write_once(there, contents)

    def _folder(self, path: Path) -> None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{path} cannot be made ({error.strerror}): choose another folder") from error

    def _write_once(self, path: Path, contents: bytes) -> bool:
        """Write a file under a name that nobody has taken; False if it is taken."""
        self._folder(self.path / "incoming")
        self._remove_torn(path.name)
        incoming = self.path / "incoming" / f"{path.name}.{secrets.token_hex(6)}"
        try:
            try:
                with incoming.open("xb") as file:
                    file.write(contents)
                    file.flush()
                    os.fsync(file.fileno())
                won = _name_once(incoming, path)
            finally:
                with contextlib.suppress(OSError):
                    incoming.unlink()
            _sync_folder(path.parent)
        except OSError as error:
            raise StorageError(
                f"{path} cannot be written ({error.strerror}); nothing of it was kept: make room, then "
                f"`steelyard fleet resume {self.path}`"
            ) from error
        return won

    def _remove_torn(self, name: str) -> None:
        """Remove what a killed process had begun to bring in."""
        for torn in (self.path / "incoming").glob(f"{name}.*"):
            with contextlib.suppress(OSError):
                if time.time() - torn.stat().st_mtime > _TORN_S:
                    torn.unlink()

    # --- heartbeats ---------------------------------------------------------------------------------------------------

    def heartbeats(self) -> dict[str, list[list[Heartbeat]]]:
        """The heartbeats of each attempt at each token, attempts in the order in which they began."""
        found: dict[str, list[list[Heartbeat]]] = {}
        for path in sorted((self.path / "words").glob("*/*.jsonl")):
            if _TOKEN.fullmatch(path.parent.name) and (said := _read_heartbeats(path)):
                found.setdefault(path.parent.name, []).append(said)
        for attempts in found.values():
            attempts.sort(key=lambda said: said[0].at)
        return found


def _name_once(incoming: Path, path: Path) -> bool:
    try:
        os.link(incoming, path)
    except FileExistsError:
        # A link over NFS may be made and its answer lost; then the first attempt was ours.
        return incoming.stat().st_nlink > 1
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Without links a race of two may replace one whole session by another; there is still one, and whole.
        if path.exists():
            return False
        incoming.replace(path)
    return True


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # what some network file systems say instead
            raise
    finally:
        os.close(handle)


def check(contents: bytes, token: str, plan: str) -> None:
    """Raise SessionFileError unless this is the complete session of a token of a plan."""
    session = decode(contents, token)
    if not contents.endswith(b"\n"):
        raise SessionFileError(f"the session of {token} is not complete; it is not taken")
    _check(session, token, plan)


def home_of(path: Path) -> Path | None:
    """The folder of the fleet in which a session lies; None where it lies elsewhere."""
    folder = path.absolute().parent
    return folder.parent if folder.name == "sessions" and os.path.lexists(folder.parent / "fleet.json") else None


def read_delivered(path: Path, plan: str) -> Session:
    """A session of a fleet; raises SessionFileError for a file that `FleetFolder.delivered` passes over."""
    if _TOKEN.fullmatch(_named(path)) is None:
        raise SessionFileError(f"{path} is named after no token of a fleet")
    session = read(path)
    _check(session, _named(path), plan)
    return session


def _named(path: Path) -> str:
    """The token that a file is named after."""
    return path.name.removesuffix(SUFFIX)


def _check(session: Session, token: str, plan: str) -> None:
    placed = session.header.placed
    if session.end is None:
        raise SessionFileError(f"the session of {token} is not complete; it is not taken")
    if placed is None or (placed.token, placed.plan) != (token, plan):
        raise SessionFileError(f"this session is not that of {token} of plan {plan}; it is not taken")


def _read_heartbeats(path: Path) -> list[Heartbeat]:
    """The heartbeats of a file; any other line, and a torn one, is passed over."""
    said = []
    try:
        lines = read_regular(path, _LARGEST_RECORD).split(b"\n")[:-1]
    except UnreadableError:
        return []
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            said.append(_HEARTBEAT.decode(line))
    return said


class HeartbeatLog:
    """Writes the heartbeats of an attempt at a token into the fleet's folder. A failure to write stops nothing.

    ``folder`` is None where there is no shared folder.
    """

    def __init__(self, folder: FleetFolder | None, token: str, job: str, restart: int) -> None:
        self._job, self._restart, self._file = job, restart, None
        if folder is not None:
            name = f"{time.time_ns()}-{secrets.token_hex(4)}.jsonl"
            self._file = folder.path / "words" / token / name
            with contextlib.suppress(OSError):
                self._file.parent.mkdir(parents=True, exist_ok=True)

    def add(self, heartbeat: Heartbeat) -> None:
        """Add a heartbeat; time, host and job are filled in."""
        if self._file is None:
            return
        full = msgspec.structs.replace(
            heartbeat, at=time.time(), host=socket.gethostname(), job=self._job, restart=self._restart
        )
        with contextlib.suppress(OSError), self._file.open("ab") as file:
            file.write(_ENCODER.encode(full) + b"\n")


# --- the status of each token -----------------------------------------------------------------------------------------


def statuses(
    tokens: Sequence[str],
    delivered: Iterable[str],
    heartbeats: Mapping[str, Sequence[Sequence[Heartbeat]]],
    jobs: Mapping[str, FleetJob],
    why_not: Mapping[str, str],
    *,
    now: float,
) -> list[TokenStatus]:
    """The status of each token. ``why_not``: why those tokens were not placed; ``now``: seconds since 1970."""
    there = set(delivered)
    return [
        _status(token, token in there, heartbeats.get(token, ()), jobs.get(token), why_not.get(token), now)
        for token in tokens
    ]


def _status(
    token: str,
    there: bool,
    attempts: Sequence[Sequence[Heartbeat]],
    job: FleetJob | None,
    why_not: str | None,
    now: float,
) -> TokenStatus:
    said = attempts[-1] if attempts else []
    found = TokenStatus(
        token=token,
        node=node_of(token),
        state="missing",
        attempts=len(attempts),
        machine_key=next((one.machine_key for one in reversed(said) if one.machine_key), ""),
    )
    if there:
        return msgspec.structs.replace(found, state="delivered")
    if why_not is not None:
        return msgspec.structs.replace(found, said=why_not)
    last = said[-1] if said else None
    if job is None:
        return _by_heartbeat(found, last, now, may_be_dead=True)
    match job.state:
        case "queued":
            return msgspec.structs.replace(found, state="queued", said=job.said)
        case "running":
            return _by_heartbeat(found, None if last and last.what == "ended" else last, now, may_be_dead=False)
        case _ if last is not None and last.what == "ended":
            # One that was told to stop does not know why; who told it does.
            told = job.said if last.code == TOLD_TO_STOP else ""
            ended = _by_heartbeat(found, last, now, may_be_dead=True)
            return msgspec.structs.replace(ended, said=told or ended.said)
        case _:  # a killed one says nothing of itself
            return msgspec.structs.replace(found, state="failed", said=job.said or "it ended and left no heartbeat")


def _by_heartbeat(found: TokenStatus, last: Heartbeat | None, now: float, *, may_be_dead: bool) -> TokenStatus:
    """The status by the last heartbeat of an attempt, and by how long ago it was."""
    if last is None:
        return found if may_be_dead else msgspec.structs.replace(found, state="waiting", said="begins")
    if last.what == "ended":
        return msgspec.structs.replace(found, state="failed", said=last.said or "it ended without a session")
    silent_s = now - last.at
    if silent_s > _SILENT_S[last.what]:
        said = f"no heartbeat for {silent_s / 60:.0f} minutes: it was killed, or its node hangs"
        return msgspec.structs.replace(found, state="failed" if may_be_dead else "silent", said=said)
    if last.what == "measuring":
        return msgspec.structs.replace(found, state="measuring", done=last.done, of=last.of, left_s=last.left_s)
    return msgspec.structs.replace(found, state="waiting", said=last.said or last.what)


#: Longest that an attempt is silent while all is well: a run takes a deadline at most, waiting as long as was allowed.
_SILENT_S = {"begun": 300.0, "waiting": 3600.0, "locked": 600.0, "measuring": 300.0, "delivered": 300.0}


# --- a session as the output of a job ---------------------------------------------------------------------------------

_BEGIN = re.compile(r"-----BEGIN STEELYARD SESSION (?P<token>\S+) (?P<plan>[0-9a-f]+)-----")
_END = re.compile(r"-----END STEELYARD SESSION (?P<sha256>[0-9a-f]{64})-----")


@dataclass(frozen=True, slots=True)
class Framed:
    """A session from the output of a job; ``contents`` is None if it is not whole, and ``wrong`` says why."""

    token: str
    contents: bytes | None
    wrong: str = ""

    def whole(self) -> bytes:
        """The contents; raises SessionFileError if they are not whole."""
        if self.contents is None:
            raise SessionFileError(f"the session of {self.token} is not whole: {self.wrong}")
        return self.contents


def frame(token: str, plan: str, contents: bytes) -> str:
    """A session as text that stands among other text: compressed, in lines, with its digest at the end."""
    text = base64.b64encode(zlib.compress(contents, 6)).decode()
    lines = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
    digest = hashlib.sha256(contents).hexdigest()
    begin, end = f"-----BEGIN STEELYARD SESSION {token} {plan}-----", f"-----END STEELYARD SESSION {digest}-----"
    return "\n".join([begin, *lines, end, ""])


def unframe(lines: Iterable[str]) -> Iterator[Framed]:
    """The sessions in the output of jobs, in order; what stands between them is passed over."""
    begun: re.Match[str] | None = None
    inside: list[str] = []
    for line in (raw.strip() for raw in lines):
        if match := _BEGIN.fullmatch(line):
            if begun:
                yield Framed(begun["token"], None, "it has no end")
            begun, inside = match, []
        elif begun and (match := _END.fullmatch(line)):
            yield _unpacked(begun["token"], "".join(inside), match["sha256"])
            begun = None
        elif begun:
            inside.append(line)
    if begun:
        yield Framed(begun["token"], None, "it has no end")


def _unpacked(token: str, text: str, digest: str) -> Framed:
    try:
        contents = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), _LARGEST)
    except (binascii.Error, ValueError, zlib.error):
        return Framed(token, None, "it is damaged")
    if hashlib.sha256(contents).hexdigest() != digest:
        return Framed(token, None, "its digest is another")
    return Framed(token, contents)
