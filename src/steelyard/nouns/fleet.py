# SPDX-License-Identifier: Apache-2.0
"""Many machines: what each is asked for, and how far it is."""

from __future__ import annotations

from typing import Literal

import msgspec

from steelyard.nouns.base import Count, Positive, Record, Seconds, Whole
from steelyard.settings import Settings


class FleetPlan(Record, frozen=True, kw_only=True, tag="fleet plan", tag_field="type"):
    """What every machine of a fleet measures: names of cases, and the options of measuring.

    ``id`` is drawn when the plan is made; ``steelyard`` is the version that all machines must have. The seed of the
    settings is that of the plan, from which each session takes its own.
    """

    id: str
    steelyard: str
    cases: tuple[str, ...]
    settings: Settings


class FleetOrder(Record, frozen=True, kw_only=True):
    """What was asked for when a fleet was begun: the number of sessions on each of these nodes, and the backend.

    ``node_options`` are passed to `steelyard fleet node`, ``backend_options`` to the backend.
    """

    id: str
    at: str
    backend: str = msgspec.field(name="engine")
    nodes: tuple[str, ...]
    sessions: Positive
    time_limit_s: Seconds
    node_options: tuple[str, ...] = ()
    backend_options: tuple[str, ...] = msgspec.field(name="engine_options", default=())
    partition: str | None = None


class FleetNode(Record, frozen=True, kw_only=True):
    """What a backend says of a node: whether work can be placed on it now, and why not."""

    name: str
    usable: bool
    said: str = ""


class FleetJob(Record, frozen=True, kw_only=True):
    """What a backend says of the job of a token. ``code``: the exit code of a job that ended, where it is known."""

    job: str
    state: Literal["queued", "running", "ended"]
    said: str = ""
    code: int | None = None


class Heartbeat(Record, frozen=True, kw_only=True):
    """What an attempt at a token writes of itself into the fleet's folder. Times are seconds since 1970.

    ``code`` is the exit code, and only in the last one; ``done`` of ``of`` runs, about ``left_s`` to go.
    """

    at: Seconds
    what: Literal["begun", "waiting", "locked", "measuring", "delivered", "ended"]
    host: str = ""
    job: str = ""
    restart: Count = 0
    machine_key: str = ""
    said: str = ""
    done: Count = 0
    of: Count = 0
    left_s: Seconds = 0.0
    code: Whole | None = None


class TokenStatus(Record, frozen=True, kw_only=True):
    """How far the session of a token is."""

    token: str
    node: str
    state: Literal["delivered", "measuring", "waiting", "silent", "queued", "failed", "missing"]
    said: str = ""
    attempts: int = 0
    done: int = 0
    of: int = 0
    left_s: float = 0.0
    machine_key: str = ""
