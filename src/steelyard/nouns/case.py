# SPDX-License-Identifier: Apache-2.0
"""What is measured: a probe with fixed parameters."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from steelyard.nouns.base import Placement, Record, Scalar

_CASE_NAME = re.compile(r"(?P<probe>[a-z0-9_]+/[a-z0-9_]+)(?:\[(?P<parameters>[^\]]*)\])?(?:@(?P<placement>[a-z]+))?")


class Case(Record, frozen=True, kw_only=True):
    """A probe with fixed parameters and placement, perhaps as a variant; equal cases have equal names."""

    probe: str
    placement: Placement
    parameters: dict[str, Scalar] = {}
    variant: str | None = None

    @property
    def name(self) -> str:
        """``question/way[param=value,…]@placement~variant``, parameters in the order of the descriptor."""
        inner = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        variant = f"~{self.variant}" if self.variant is not None else ""
        return f"{self.probe}{f'[{inner}]' if inner else ''}@{self.placement}{variant}"

    def __hash__(self) -> int:
        """Hash of the name: the parameters are a mapping."""
        return hash(self.name)


class Neighbour(Record, frozen=True, kw_only=True):
    """What works beside each run of a variant: a case, again and again, once on each of these CPUs.

    ``where``: the CPUs that the run leaves to others, or those of the run itself. ``does``: the same in words, a verb
    with its object.
    """

    case: Case
    where: Literal["other", "same"]
    does: str


class Variant(Record, frozen=True, kw_only=True):
    """A way in which the same cases are run.

    It may be with another environment, from another folder, by another interpreter or beside neighbours.
    """

    label: str
    environment: dict[str, str] = {}
    probes: str | None = None
    python: str | None = None
    beside: tuple[Neighbour, ...] = ()


class CasePattern(Record, frozen=True, kw_only=True):
    """A probe with some parameters, and perhaps a placement: stands for every case that agrees in what it says."""

    probe: str
    parameters: dict[str, str] = {}
    placement: str | None = None

    @classmethod
    @lru_cache(maxsize=8192)  # every table and claim asks for the same few names again and again
    def parse(cls, text: str) -> CasePattern | None:
        """Read ``question/way[param=value]@placement``; None if the text has another form."""
        match = _CASE_NAME.fullmatch(text)
        if match is None:
            return None
        pairs = [pair.partition("=") for pair in (match["parameters"] or "").split(",") if pair]
        if any(not equals for _, equals, _ in pairs):
            return None
        return cls(
            probe=match["probe"],
            parameters={key: value for key, _, value in pairs},
            placement=match["placement"],
        )

    def matches(self, case: Case) -> bool:
        """Whether the case has this probe, these parameter values and, if given, this placement."""
        return (
            case.probe == self.probe
            and self.placement in (None, case.placement)
            and all(str(case.parameters.get(key)) == value for key, value in self.parameters.items())
        )
