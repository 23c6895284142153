# SPDX-License-Identifier: Apache-2.0
"""What places the work of a fleet on machines: a backend a file, found by looking in this folder.

A backend only places. That one session at a time measures on a machine is the business of the lock on that machine,
which holds against whoever comes by another backend, or by none. A module of this folder defines `Backend`, and the
functions `missing` (why the backend cannot be had here), `resolve` (the nodes that are asked for) and `here` (what it
placed this process on).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from steelyard.errors import BackendError
from steelyard.records import FleetJob, FleetNode, FleetOrder

#: The backend that needs nothing.
LOCAL = "local"


class Unreachable(Exception):  # noqa: N818 - no error: it passes
    """The backend does not answer now; what it has placed goes on, and it may be asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """What a backend says to the process that it placed: where it is, and what of the machine it may use.

    ``number``: which of a node's sessions this is; ``cpus``: how many CPUs it may use. None where it says nothing.
    """

    backend: str
    node: str
    job: str = ""
    restart: int = 0
    number: int | None = None
    cpus: int | None = None


class Backend(Protocol):
    """Places the sessions of one fleet."""

    #: How long to wait between two questions.
    poll_s: float

    def nodes(self) -> list[FleetNode]:
        """The nodes of the order; raises BackendError if one does not exist, Unreachable."""

    def place(self, token: str, node: str, command: Sequence[str], output: Path) -> None:
        """Have a command run on a node, its output in a file; raises BackendError if that is refused, Unreachable."""

    def jobs(self) -> dict[str, FleetJob]:
        """The newest job of each token, also of those that another client placed; raises Unreachable."""

    def take_back(self, token: str) -> None:
        """Have the job of a token not run after all."""

    def close(self) -> None:
        """Let go of what only this client holds."""


def names() -> list[str]:
    """The backends there are."""
    return [module.name for module in pkgutil.iter_modules(__path__)]


def _module(name: str) -> Any:
    if name not in names():
        raise BackendError(f'there is no backend "{name}": {", ".join(names())}')
    return importlib.import_module(f"{__name__}.{name}")


def missing(name: str) -> str | None:
    """Why this backend cannot be had here; None if it can."""
    found: str | None = _module(name).missing()
    return found


def default() -> str:
    """The backend to take when none is named: one that finds its cluster here, else the local one."""
    return next((name for name in names() if name != LOCAL and missing(name) is None), LOCAL)


def resolve(name: str, nodes: str | None, partition: str | None) -> list[str]:
    """The names of the nodes that are asked of a backend; raises BackendError if there are none, Unreachable."""
    if (why := missing(name)) is not None:
        raise BackendError(f"{name} cannot be used here: {why}")
    found: list[str] = _module(name).resolve(nodes, partition)
    return found


def backend(order: FleetOrder) -> Backend:
    """The backend of an order; raises BackendError if it cannot be had here."""
    if (why := missing(order.backend)) is not None:
        raise BackendError(f"{order.backend} cannot be used here: {why}")
    made: Backend = _module(order.backend).Backend(order)
    return made


def here(environ: Mapping[str, str]) -> Here:
    """Where this process was placed, and by whom."""
    others = [name for name in names() if name != LOCAL]
    found: Iterator[Here | None] = (_module(name).here(environ) for name in (*others, LOCAL))
    return next(place for place in found if place is not None)
