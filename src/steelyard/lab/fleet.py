# SPDX-License-Identifier: Apache-2.0
"""A fleet of machines that measure one plan: place what is missing, watch it, say what came of it."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from steelyard.errors import BackendError, IncompleteError, SessionFileError, UsageError
from steelyard.keep import fleet
from steelyard.keep.fleet import FleetFolder
from steelyard.keep.folder import overview
from steelyard.measure import backends
from steelyard.measure.backends import Backend, Unreachable
from steelyard.records import FleetJob, FleetNode, FleetOrder, FleetPlan, Header, TokenStatus
from steelyard.show.fleet import Board

#: A session may be there before a network file system shows it to us.
_SHOWN_WITHIN_S = 60.0
#: How often the backend is asked how its nodes are.
_NODES_EVERY_S = 10.0
#: What starting a probe and setting it up takes about.
_AROUND_A_RUN_S = 0.1
#: Room for a budget that is not kept to the second, for the locks and for a machine that has to become idle.
_TIMES_LONGER = 4
_LEAST_LIMIT_S = 1800.0
#: Most sessions of one fleet: each is a row of its status.
_MOST_SESSIONS = 1_000_000


def tokens_of(order: FleetOrder) -> list[str]:
    """Every token that was ordered, the first of all nodes before their second ones; raises UsageError for too many."""
    if len(order.nodes) * order.sessions > _MOST_SESSIONS:
        raise UsageError(
            f"{order.sessions} sessions on each of {len(order.nodes)} nodes are more than a fleet has: "
            f"{_MOST_SESSIONS} at most"
        )
    return [fleet.token_of(node, number) for number in range(1, order.sessions + 1) for node in order.nodes]


def node_command(folder: FleetFolder, order: FleetOrder, token: str) -> list[str]:
    """How the part of a fleet that runs on a node is started, but for the name of the node."""
    number = token.rpartition(".")[2]
    return [
        *(sys.executable, "-m", "steelyard", "fleet", "node", str(folder.path / "fleet.json")),
        *("--to", str(folder.path), "--session", number, *order.node_options),
    ]


class Driver:
    """Drives a fleet until every session is there or will not come without help.

    ``start_within_s``: how long a job may stay in the queue; ``node_wait_s``: how long a node may be away before what
    is queued for it is taken back.
    """

    def __init__(
        self,
        folder: FleetFolder,
        order: FleetOrder,
        board: Board,
        *,
        start_within_s: float,
        node_wait_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._order, self._board, self._clock = folder, order, board, clock
        self._start_within_s, self._node_wait_s = start_within_s, node_wait_s
        self._backend: Backend = backends.backend(order)
        self._tokens = tokens_of(order)
        self._why_not: dict[str, str] = {}
        self._nodes: dict[str, FleetNode] = {}
        self._nodes_asked = -_NODES_EVERY_S
        self._away_since: dict[str, float] = {}
        self._queued_since: dict[str, float] = {}
        self._ended_since: dict[str, float] = {}
        self._unheard_since: float | None = None
        self._placed: set[str] = set()
        self._jobs: dict[str, FleetJob] = {}

    def drive(self, poll_s: float | None = None) -> None:
        """Ask every ``poll_s``; raises IncompleteError if sessions are missing in the end."""
        try:
            while True:
                found = self._look()
                self._board.show(found)
                if all(self._settled(one) for one in found):
                    break
                time.sleep(self._backend.poll_s if poll_s is None else poll_s)
        finally:
            self._backend.close()
        self._board.end(found, headers(self._folder.delivered()))
        missing = [one for one in found if one.state != "delivered"]
        if missing:
            raise IncompleteError(
                f"{len(missing)} of {len(found)} sessions are missing, and the lines above say why: "
                f"`steelyard fleet resume {self._folder.path}` does only those"
            )

    def _look(self) -> list[TokenStatus]:
        """Ask the backend, place what it can take, and give the status of each token."""
        try:
            if self._clock() - self._nodes_asked >= min(_NODES_EVERY_S, self._node_wait_s):
                self._ask_for_nodes()
            self._jobs = self._backend.jobs()
            self._place()
            self._take_back()
        except Unreachable as away:
            self._board.away(str(away))
            self._unheard_since = self._unheard_since or self._clock()
            if self._clock() - self._unheard_since >= self._start_within_s:
                raise BackendError(f"{away}, for too long: `steelyard fleet resume` when it is back") from away
        else:
            self._board.back()
            self._unheard_since = None
        # Looked at after the jobs: a job that has ended brought its session before.
        return fleet.statuses(
            self._tokens,
            self._folder.delivered(),
            self._folder.heartbeats(),
            self._jobs,
            self._why_not,
            now=time.time(),
        )

    def _ask_for_nodes(self) -> None:
        self._nodes_asked = self._clock()
        for node in self._backend.nodes():
            self._nodes[node.name] = node
            if node.usable:
                self._away_since.pop(node.name, None)
            else:
                self._away_since.setdefault(node.name, self._nodes_asked)

    def _gone(self, token: str) -> str | None:
        """Why a node is not waited for any longer: it has been away for too long.

        The time is needed because Slurm, after a restart of its controller, knows no node for a while.
        """
        node = self._nodes[fleet.node_of(token)]
        away_s = self._clock() - self._away_since.get(node.name, math.inf)
        return f"{node.name} {node.said}" if away_s >= self._node_wait_s else None

    def _place(self) -> None:
        there = self._folder.delivered()
        for token in self._tokens:
            job = self._jobs.get(token)
            if token in there or token in self._placed or (job is not None and job.state != "ended"):
                continue
            node = self._nodes[fleet.node_of(token)]
            if (why := self._gone(token)) is not None:
                self._why_not[token] = why
                self._placed.add(token)
            if not node.usable:
                continue
            self._placed.add(token)
            output = self._folder.path / "jobs" / f"{token}.out"
            try:
                output.parent.mkdir(exist_ok=True)
                self._backend.place(token, node.name, node_command(self._folder, self._order, token), output)
            except (BackendError, OSError) as error:
                self._why_not[token] = str(error)
            except Unreachable:
                self._placed.discard(token)
                raise
            else:
                self._jobs[token] = FleetJob(job="", state="queued")

    def _take_back(self) -> None:
        """Take back what is queued for a node that is away, and what has been queued for too long."""
        now = self._clock()
        for token, job in self._jobs.items():
            if job.state != "queued" or token in self._why_not:
                self._queued_since.pop(token, None)
                continue
            why = self._gone(token)
            if now - self._queued_since.setdefault(token, now) >= self._start_within_s:
                why = why or f"its job was still in the queue after {self._start_within_s:g} s ({job.said})"
            if why:
                self._backend.take_back(token)
                self._why_not[token] = why

    def _settled(self, one: TokenStatus) -> bool:
        if one.state == "delivered":
            return True
        if one.token in self._why_not:
            return True
        job = self._jobs.get(one.token)
        if job is None or job.state != "ended":
            return False
        # One that ended well brought its session, which a network file system may yet hide.
        since = self._ended_since.setdefault(one.token, self._clock())
        return job.code != 0 or self._clock() - since >= _SHOWN_WITHIN_S


def headers(delivered: Mapping[str, Path]) -> dict[str, Header]:
    """The headers of the sessions that are there, by token; one that cannot be read is passed over."""
    found = {}
    for token, path in delivered.items():
        try:
            found[token] = overview(path).header
        except SessionFileError:
            continue
    return found


def look(folder: FleetFolder) -> list[TokenStatus]:
    """The status of every session that was ordered, is in the folder, or has a heartbeat."""
    folder.plan()
    order = folder.order()
    jobs = {} if order is None else _jobs(order)
    delivered, heartbeats = folder.delivered(), folder.heartbeats()
    ordered = [] if order is None else tokens_of(order)
    others = sorted({*delivered, *heartbeats} - set(ordered))
    return fleet.statuses([*ordered, *others], delivered, heartbeats, jobs, {}, now=time.time())


def _jobs(order: FleetOrder) -> dict[str, FleetJob]:
    """What the backend says; nothing where it does not answer, and then the heartbeats alone tell the status."""
    try:
        return backends.backend(order).jobs()
    except (BackendError, Unreachable):
        return {}


def time_limit_s(plan: FleetPlan) -> float:
    """Longest that one session of this plan may take, waiting for the machine included."""
    return max(_LEAST_LIMIT_S, _TIMES_LONGER * expected_s(plan))


def expected_s(plan: FleetPlan) -> float:
    """About how long a session of this plan takes."""
    settings = plan.settings
    if settings.budget_s is not None:
        return settings.budget_s
    run_s = settings.planned_values * settings.target_s + _AROUND_A_RUN_S
    return (len(plan.cases) + 3) * ((settings.planned_blocks or 0) + 1) * run_s
