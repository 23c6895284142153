# SPDX-License-Identifier: Apache-2.0
"""The error rates as they were measured, from library/error_rates.json: what `steelyard prove` keeps there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from steelyard.errors import InstallationError


@dataclass(frozen=True, slots=True)
class ProofRow:
    """What a rule does in one noise; rates from 0 to 1.

    false_positive_rate: identical programs called different; false_positive_bound: its exact upper 95 % bound.
    power: a program 5 % slower called different. coverage: intervals of identical programs that hold 1, NaN where the
    rule gives none.
    """

    rule: str
    noise: str
    trials: int
    false_positive_rate: float
    false_positive_bound: float
    power: float
    coverage: float


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """The chance of any wrong "different" among `cases` comparisons of one session, as measured, with its bound.

    error_rate: all programs identical. mixed_error_rate: every other case 5 % slower, errors among the identical ones.
    mixed_power: the share of the slower ones found. alone_error_rate: without the family's correction.
    """

    rule: str
    noise: str
    sessions: int
    cases: int
    error_rate: float
    error_bound: float
    mixed_error_rate: float
    mixed_error_bound: float
    mixed_power: float
    alone_error_rate: float


@dataclass(frozen=True, slots=True)
class SequentialRow:
    """What a rule that may stop at each look does: like ProofRow, with the interval of the look at which it stopped.

    coverage_slower: coverage of the true ratio when b is 5 % slower. blocks, blocks_slower: mean number of blocks run.
    """

    rule: str
    noise: str
    trials: int
    false_positive_rate: float
    false_positive_bound: float
    power: float
    coverage: float
    coverage_slower: float
    blocks: float
    blocks_slower: float


@dataclass(frozen=True, slots=True)
class ProofTable:
    """The error rates of all rules in all noises, and what produced them."""

    seed: int
    rows: tuple[ProofRow, ...]
    family: tuple[FamilyRow, ...]
    sequential: tuple[SequentialRow, ...]


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
