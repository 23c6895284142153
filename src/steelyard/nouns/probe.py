# SPDX-License-Identifier: Apache-2.0
"""What a probe says about itself."""

from __future__ import annotations

from typing import Literal

from steelyard.nouns.base import Better, Count, Placement, Record, Scalar, Statistic, Whole


class Metric(Record, frozen=True, kw_only=True):
    """One figure of a probe: quantity ``over`` divided by quantity ``per`` of the same value."""

    name: str
    unit: str
    better: Better
    over: str
    per: str
    doc: str


class Parameter(Record, frozen=True, kw_only=True):
    """What may be varied: an integer within limits or a choice of words, and the default sweep.

    ``brief``: those of the sweep that a first session of a few minutes takes; all of it when empty. ``built``: it says
    how the timed part was compiled, and not what is done. ``curves``: metrics that are drawn over it beside the main
    one.
    """

    name: str
    type: Literal["integer", "choice"]
    doc: str
    sweep: tuple[Scalar, ...]
    brief: tuple[Scalar, ...] = ()
    unit: str | None = None
    choices: tuple[str, ...] = ()
    minimum: Whole | None = None
    maximum: Whole | None = None
    built: bool = False
    curves: tuple[str, ...] = ()


class Descriptor(Record, frozen=True, kw_only=True):
    """What a probe says about itself (``--describe``).

    ``warms_up``: it compiles itself while it runs, so that the values of a run are a time series. ``value_ms``: values
    need be no longer; 0 where it does not say. ``family``: what its ways are drawn and tabled together as. ``title``:
    what people call it.
    ``tails``: it can time operations one by one. ``properties``: what is known of it without measuring, by name, for
    whoever has to choose. ``lacks``: why it cannot run here, and what to install, where it knows that without running.
    """

    protocol: int
    probe: str
    question: str
    operation: str
    source: str
    statistic: Statistic
    placements: tuple[Placement, ...]
    uses: tuple[str, ...]
    metrics: tuple[Metric, ...]
    parameters: tuple[Parameter, ...] = ()
    baseline: str | None = None
    warms_up: bool = False
    value_ms: Count = 0
    family: str | None = None
    title: str | None = None
    properties: dict[str, str] = {}
    tails: bool = False
    lacks: str | None = None

    @property
    def called(self) -> str:
        """Its title, or its identifier where it has none."""
        return self.title or self.probe

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, if the probe has it."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)
