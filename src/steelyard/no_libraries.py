# SPDX-License-Identifier: Apache-2.0
"""What is said where a library is missing: one that everything needs, or one of an extra, which some commands need."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from typing import NoReturn

from steelyard.errors import InstallationError

_OF_AN_EXTRA = re.compile(r"(?P<library>[\w.-]+).*\bextra *== *['\"](?P<extra>[\w-]+)['\"]")


def end(error: ModuleNotFoundError) -> NoReturn:
    """Say what to type where a library is missing that everything needs, and end the process."""
    # No escape sequence gets through `ascii`, whatever the path of the interpreter holds.
    name, interpreter = ascii(error.name)[1:-1], ascii(sys.executable)[1:-1]
    words = (
        f"steelyard: {name} is not installed for {interpreter}: run `make build` in a checkout and call "
        ".venv/bin/steelyard, or run `pip install .`\n"
    )
    os.write(2, words.encode())
    sys.exit(InstallationError.exit_code)


def lacking(error: BaseException) -> str | None:
    """The sentence for an error that a library of an extra is missing; None for every other error."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__
    if cause is None or not cause.name:
        return None
    wanted = _plain(cause.name.partition(".")[0])
    for requirement in _requirements():
        found = _OF_AN_EXTRA.match(requirement)
        # The module vl_convert is of the library vl-convert-python.
        if found and f"{_plain(found['library'])}-".startswith(f"{wanted}-"):
            return (
                f"this needs {found['library']}, which is not installed for {sys.executable}: "
                f"pip install 'steelyard[{found['extra']}]'"
            )
    return None


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Raise InstallationError, with the extra to install, where a library of one is imported that is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        if sentence := lacking(error):
            raise InstallationError(sentence) from error
        raise


def _requirements() -> list[str]:
    """What the installed package says that it needs, each extra's libraries among them."""
    from importlib import metadata  # takes a moment, which only this sentence is worth

    try:
        return metadata.requires("steelyard") or []
    except metadata.PackageNotFoundError:
        return []


def _plain(name: str) -> str:
    """A name as all spellings of it have it."""
    return re.sub(r"[-_.]+", "-", name).lower()
