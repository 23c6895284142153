# SPDX-License-Identifier: Apache-2.0
"""Base of all records, and the kinds of values that they have."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

SCHEMA = 1
PROTOCOL = 1
Placement = Literal["same", "cross", "free"]
Statistic = Literal["lower_quartile", "median"]
Better = Literal["lower", "higher", "neither"]
#: What is read is held to what a machine can have counted or measured; the decoders of msgspec see to it.
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Block = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
#: Up to the year 5138 where it is a moment; a ratio of two readings, and its square, are finite.
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
Reading = Annotated[float, msgspec.Meta(ge=-1e60, le=1e60)]
Scalar = Whole | str
#: The innermost loops of a function, each as its instructions.
Loops = tuple[tuple[str, ...], ...]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all records: immutable, fields by name."""
