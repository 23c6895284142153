# SPDX-License-Identifier: Apache-2.0
"""Files that somebody else may have made, read without hanging and without filling the memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO


class UnreadableError(Exception):
    """Why a file cannot be read, as the end of a sentence about it."""


def open_regular(path: Path, largest: int) -> IO[bytes]:
    """Open a file for reading; raises UnreadableError unless it is a regular one of at most ``largest`` bytes.

    A FIFO or a device in its place is refused at once: opening one may wait for ever, and reading one may never end.
    """
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        raise UnreadableError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    state = os.fstat(file.fileno())
    if stat.S_ISREG(state.st_mode) and state.st_size <= largest:
        return file
    file.close()
    if not stat.S_ISREG(state.st_mode):
        raise UnreadableError("cannot be read: it is not a regular file")
    raise UnreadableError(f"has {state.st_size >> 20} MiB, and at most {largest >> 20} MiB are read")


def read_regular(path: Path, largest: int) -> bytes:
    """The contents of a file; raises UnreadableError as `open_regular` does."""
    with open_regular(path, largest) as file:
        try:
            return file.read(largest)  # it may grow meanwhile
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror}") from error
