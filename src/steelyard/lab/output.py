# SPDX-License-Identifier: Apache-2.0
"""Writes files for commands, and says what happens to a stream that cannot be written.

A file appears whole or not at all, and a session is never replaced: it cannot be measured again.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

from steelyard.errors import OutputError, ReaderGoneError
from steelyard.keep.session import is_session
from steelyard.show.visible import Visible, visible_lines

#: As much of a file as says whether it is a session: its first line, which holds every probe's descriptor.
_FIRST_LINE_BYTES = 16 * 2**20


def write(path: Path, contents: str | bytes, *, new: bool = False) -> None:
    """Write a file. Raises OutputError if it can't be, if it is a session, or with ``new`` if it exists."""
    with beside(path, new=new) as part:
        part.write_bytes(contents.encode() if isinstance(contents, str) else contents)


@contextlib.contextmanager
def beside(path: Path, *, new: bool = False) -> Iterator[Path]:
    """A path to write to, whose file takes the place of ``path`` when the context ends without an error.

    A device or a pipe stays what it is, and is written to directly. Raises OutputError as `write` does.
    """
    try:
        target = path.resolve()
        state = target.stat() if target.exists() else None
        if state is not None and not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
            yield target
            return
        if state is not None:
            _refuse(path, target, new=new)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Its own folder keeps a name that the writer may want to create itself, and its ending.
        with tempfile.TemporaryDirectory(prefix=f".{target.name[:40]}.", dir=target.parent) as own:
            part = Path(own) / target.name
            yield part
            if state is not None:
                part.chmod(stat.S_IMODE(state.st_mode))
            if new:
                os.link(part, target)
            else:
                part.replace(target)
    except FileExistsError as error:
        if not target.parent.is_dir():
            raise OutputError(f"{path} cannot be written: {target.parent} is not a folder") from error
        raise OutputError(f"{path} exists: choose another place with -o, or remove it") from error
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}): choose another place") from error


def _refuse(path: Path, target: Path, *, new: bool) -> None:
    if new:
        raise OutputError(f"{path} exists: choose another place with -o, or remove it")
    if target.is_dir():
        raise OutputError(f"{path} cannot be written: it is a folder; name a file in it")
    with target.open("rb") as file:
        first = file.readline(_FIRST_LINE_BYTES)
    if is_session(first):
        raise OutputError(f"{path} is a session, which nothing replaces: choose another place with -o")


# --- the streams of a program -----------------------------------------------------------------------------------------


def put(text: Visible) -> None:
    """Write to standard output: the one way past a `Console`, for what is made visible already."""
    sys.stdout.write(text)
    sys.stdout.flush()


if TYPE_CHECKING:
    # Were it accepted, mypy would report that this comment is not needed.
    put("a text that may hold anything")  # type: ignore[arg-type]


def put_data(text: str) -> None:
    """Write data for programs to standard output, exactly and in UTF-8; a terminal, which would obey it, sees signs."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    else:
        put(visible_lines(text))


def for_a_command(*, beside_data: bool) -> IO[str]:
    """Where a command that somebody wants run writes to: standard error where data go to standard output."""
    return sys.stderr if beside_data else sys.stdout


#: What a terminal without UTF-8 gets instead; anything else as \\u and its number.
_IN_ASCII = {
    "µ": "u", "μ": "u", "×": "x", "·": "*", "→": "->", "−": "-", "–": "-", "—": "-", "≤": "<=", "≥": ">=", "±": "+-",
    "≈": "~", "∞": "inf", "…": "...", "✓": "+", "✗": "x", "°": " degrees", "²": "^2", "“": '"', "”": '"', "’": "'",
    **dict(zip("▁▂▃▄▅▆▇█", "12345678", strict=True)),
}  # fmt: skip


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    left = error.object[error.start : error.end]
    return "".join(_IN_ASCII.get(letter, f"\\u{ord(letter):04x}") for letter in left), error.end


class _Standard(io.FileIO):
    """Standard output: its errors are told from those of other files, and said in one sentence."""

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ReaderGoneError from None
        except OSError as error:
            raise OutputError(f"standard output cannot be written: {error.strerror}") from None


class _Losable(io.FileIO):
    """Standard error: what cannot be written is lost, so that a full disk or a closed terminal stops nothing."""

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        with contextlib.suppress(OSError):
            super().write(data)
        return len(data)


def take_streams() -> None:
    """Give this program streams that never end it by a traceback, whatever they are.

    A descriptor that is closed is opened first: the next file would take its number, and be written to as output.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # Output that was closed cannot be written, and says so; words for people are lost.
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    codecs.register_error("steelyard", _in_ascii)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BytesIO())
    sys.stdout = _text(_Standard(1, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Losable(2, "w", closefd=False), sys.stderr)


def _text(raw: io.FileIO, before: TextIO | None) -> io.TextIOWrapper:
    encoding = before.encoding if before else "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, "steelyard", line_buffering=raw.isatty() or raw.fileno() == 2
    )


def drop_output() -> None:
    """Forget what could not be written, so that Python does not try again when the program ends."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
