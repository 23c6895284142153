# SPDX-License-Identifier: Apache-2.0
"""Wheat beside every server that is installed, interleaved in one run: `python -m benchmarks.servers`.

One worker on the first CPU and the generator on the second, by the same probes as `steelyard run request`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

Quantity = Literal["cpu", "requests", "p99", "resident"]

OURS = "wheat"
#: Stands for whichever server has the best figure.
EVERY = "every peer"
ALONE = "in_process"
FLOOR = "epoll_floor"
PEERS = ("bjoern", "fastwsgi", "granian", "uwsgi", "uwsgi_router", "gunicorn_sync", "gunicorn_gthread",
         "gunicorn_gevent", "gevent", "waitress", "cheroot", "wsgiref")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is asked of which servers. ``parameters`` are those of the probes, as in a case's name."""

    name: str
    parameters: str
    servers: tuple[str, ...]


LOADS = (
    Load(name="hello", parameters="application=hello,connections=50,generator=wrk,headers=1",
         servers=(OURS, FLOOR, "nginx", *PEERS)),
    Load(name="hello, 8 headers", parameters="application=hello,connections=50,generator=wrk,headers=8",
         servers=(OURS, FLOOR, "bjoern", "fastwsgi")),
    Load(name="hello, 500 connections", parameters="application=hello,connections=500,generator=wrk,headers=1",
         servers=(OURS, FLOOR, "nginx", *PEERS)),
    Load(name="hello, a connection each",
         parameters="application=hello,connections=50,generator=ab,keep_alive=no,headers=1",
         servers=(OURS, FLOOR, "nginx", "bjoern", "uwsgi", "gevent")),
    Load(name="page", parameters="application=page,connections=50,generator=wrk,headers=1",
         servers=(OURS, ALONE, "wsgi_floor", "bjoern", "fastwsgi", "gevent")),
    Load(name="static 1 KiB", parameters="application=static_1k,connections=50,generator=wrk,headers=1",
         servers=(OURS, "nginx")),
    Load(name="static 16 KiB", parameters="application=static_16k,connections=50,generator=wrk,headers=1",
         servers=(OURS, "nginx")),
    Load(name="static 1 MiB", parameters="application=static_1m,connections=50,generator=wrk,headers=1",
         servers=(OURS, "nginx")),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """Our figure against theirs under one load: their ratio is at most, or at least, ``bound``.

    ``plus``: added to theirs before the ratio is taken, in base units.
    """

    load: str
    quantity: Quantity
    theirs: str
    rule: Literal["at most", "at least"]
    bound: float
    plus: float = 0.0


CRITERIA = (
    Criterion(load="hello", quantity="cpu", theirs="bjoern", rule="at most", bound=0.78),
    Criterion(load="hello, 8 headers", quantity="cpu", theirs="bjoern", rule="at most", bound=0.75),
    Criterion(load="hello", quantity="requests", theirs=EVERY, rule="at least", bound=1.0),
    Criterion(load="hello, 500 connections", quantity="requests", theirs=EVERY, rule="at least", bound=1.0),
    Criterion(load="hello, a connection each", quantity="cpu", theirs="nginx", rule="at most", bound=1.0),
    Criterion(load="hello, 500 connections", quantity="p99", theirs="nginx", rule="at most", bound=1.0),
    Criterion(load="static 1 KiB", quantity="cpu", theirs="nginx", rule="at most", bound=1.0),
    Criterion(load="static 16 KiB", quantity="cpu", theirs="nginx", rule="at most", bound=1.0),
    Criterion(load="static 1 MiB", quantity="requests", theirs="nginx", rule="at least", bound=1.0),
    Criterion(load="hello, 500 connections", quantity="resident", theirs="bjoern", rule="at most", bound=1.0,
              plus=2 * 2**20),
    Criterion(load="page", quantity="cpu", theirs=ALONE, rule="at most", bound=1.03),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one run of one server gave; ``by_client``: the generator was the limit, so that it was weighed."""

    figures: dict[str, float]
    by_client: bool


Measured = dict[tuple[str, str], list[Round | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A criterion held against the rounds; ``held`` is None where they disagree or nothing can be said."""

    criterion: Criterion
    peer: str
    ours: float
    theirs: float
    ratios: tuple[float, ...]
    held: bool | None
    why: str = ""


def judge(criterion: Criterion, measured: Measured) -> Verdict | None:
    """Hold a criterion against what was measured, round by round; None if either side is missing.

    Of every peer the one that comes nearest to us decides. All rounds must agree.
    """
    found = [v for peer in _peers(criterion) if (v := _against(criterion, peer, measured))]
    worst: Callable[[Sequence[Verdict]], Verdict]
    if criterion.rule == "at least":
        worst = lambda verdicts: min(verdicts, key=lambda v: median(v.ratios))  # noqa: E731
    else:
        worst = lambda verdicts: max(verdicts, key=lambda v: median(v.ratios))  # noqa: E731
    return worst(found) if found else None


def _peers(criterion: Criterion) -> tuple[str, ...]:
    return PEERS if criterion.theirs == EVERY else (criterion.theirs,)


def _against(criterion: Criterion, peer: str, measured: Measured) -> Verdict | None:
    pairs = [
        (ours, theirs)
        for ours, theirs in zip(
            measured.get((criterion.load, OURS), ()), measured.get((criterion.load, peer), ()), strict=False
        )
        if ours is not None and theirs is not None
    ]
    name = criterion.quantity
    figures = [(ours.figures[name], theirs.figures[name] + criterion.plus) for ours, theirs in pairs]
    if not figures:
        return None
    ratios = tuple(ours / theirs for ours, theirs in figures)
    kept = [ratio <= criterion.bound if criterion.rule == "at most" else ratio >= criterion.bound for ratio in ratios]
    held = all(kept) if len(set(kept)) == 1 else None
    why = "" if held is not None else f"in {sum(kept)} of {len(kept)} rounds"
    if name in ("requests", "p99") and any(ours.by_client and theirs.by_client for ours, theirs in pairs):
        held, why = None, "the generator was the limit of both: see the CPU a request"
    return Verdict(
        criterion=criterion,
        peer=peer,
        ours=median(ours for ours, _ in figures),
        theirs=median(theirs for _, theirs in figures),
        ratios=ratios,
        held=held,
        why=why,
    )
