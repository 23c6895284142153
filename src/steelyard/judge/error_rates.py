# SPDX-License-Identifier: Apache-2.0
"""The error rates as they were measured, from library/error_rates.json: what `steelyard prove` keeps there."""

from __future__ import annotations

import math
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from steelyard.errors import InstallationError
from steelyard.judge.proving import ProofTable


@cache
def measured() -> ProofTable:
    """The table of the documentation. Raises InstallationError when the file is missing or malformed."""
    file = resources.files("steelyard.judge.library") / "error_rates.json"
    try:
        return read(file.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise InstallationError(f"library/error_rates.json: {error}") from error


def read(contents: bytes) -> ProofTable:
    """A table from JSON, in which a rate that a rule does not have is null. Raises msgspec.DecodeError."""
    data: Any = msgspec.json.decode(contents)
    return msgspec.convert(_with_nan(data), ProofTable)


def write(table: ProofTable) -> bytes:
    """A table as JSON, one row a line so that a change can be read."""
    return msgspec.json.encode(table).replace(b'{"rule"', b'\n{"rule"') + b"\n"


def _with_nan(data: Any) -> Any:
    match data:
        case dict():
            return {name: math.nan if value is None else _with_nan(value) for name, value in data.items()}
        case list():
            return [_with_nan(item) for item in data]
        case _:
            return data
