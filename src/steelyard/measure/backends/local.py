# SPDX-License-Identifier: Apache-2.0
"""One machine, one session after another: the same path as a cluster's, with no cluster.

The nodes of an order are names for this machine: several of them are its sessions under several names, to try a fleet
out.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.errors import BackendError
from steelyard.measure.backends import LOCAL, Here
from steelyard.records import FleetJob, FleetNode, FleetOrder

#: How long a command that has met its time limit may take to end by itself.
_KILL_WAIT_S = 30.0


def missing() -> str | None:
    """Nothing: a machine is always at hand."""
    return None


def here(environ: Mapping[str, str]) -> Here | None:
    """The machine at hand, by its own name."""
    return Here(backend=LOCAL, node=_own_name()[0], job=environ.get("STEELYARD_JOB", ""))


def resolve(nodes: str | None, partition: str | None) -> list[str]:
    """The names that are asked for; this machine's own where none are. Raises BackendError on a partition."""
    if partition is not None:
        raise BackendError("the local backend knows no partition: leave it out, or choose --backend slurm")
    return _own_name() if nodes is None else [name for name in nodes.split(",") if name]


def _own_name() -> list[str]:
    return [socket.gethostname().partition(".")[0]]


class Backend:
    """Runs one command at a time; the next begins when somebody asks how the jobs go."""

    poll_s = 0.2

    def __init__(self, order: FleetOrder) -> None:
        self._order = order
        self._waiting: deque[tuple[str, Sequence[str], Path]] = deque()
        self._running: tuple[str, subprocess.Popen[bytes]] | None = None
        self._began = 0.0
        self._overdue = False
        self._ended: dict[str, FleetJob] = {}

    def nodes(self) -> list[FleetNode]:
        """The names that were given, all of them this machine's."""
        return [FleetNode(name=name, usable=True) for name in self._order.nodes]

    def place(self, token: str, node: str, command: Sequence[str], output: Path) -> None:
        """Put it behind the others."""
        self._waiting.append((token, [*command, "--node", node], output))

    def jobs(self) -> dict[str, FleetJob]:
        """What was placed by this client; begins the next when one has ended."""
        if self._running is not None and (code := self._running[1].poll()) is not None:
            token, process = self._running
            said = f"it was ended by {signal.Signals(-code).name}" if code < 0 else ""
            if self._overdue:
                said = "it met its time limit: ask for more with --time-limit"
            self._ended[token] = FleetJob(
                job=str(process.pid), state="ended", code=code if code >= 0 else 128 - code, said=said
            )
            self._running = None
        if self._running is not None:
            self._hold_to_its_time(self._running[1])
        elif self._waiting:
            self._running = self._start(*self._waiting.popleft())
        found = {token: FleetJob(job="", state="queued", said="its turn comes") for token, _, _ in self._waiting}
        if self._running is not None:
            token, process = self._running
            found[token] = FleetJob(job=str(process.pid), state="running")
        return {**self._ended, **found}

    def _hold_to_its_time(self, process: subprocess.Popen[bytes]) -> None:
        """Tell one that hangs to end, and end it when it does not listen."""
        late_s = time.monotonic() - self._began - self._order.time_limit_s
        if late_s >= _KILL_WAIT_S:
            process.kill()
        elif late_s >= 0 and not self._overdue:
            self._overdue = True
            process.terminate()

    def _start(self, token: str, command: Sequence[str], output: Path) -> tuple[str, subprocess.Popen[bytes]]:
        self._began, self._overdue = time.monotonic(), False
        with output.open("ab") as words:
            environment = {**os.environ, "STEELYARD_JOB": f"{os.getpid()}/{token}"}
            return token, subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=words, stderr=subprocess.STDOUT, env=environment
            )

    def take_back(self, token: str) -> None:
        """Leave it out of the queue."""
        self._waiting = deque(job for job in self._waiting if job[0] != token)

    def close(self) -> None:
        """End what runs: nobody is left to begin the next."""
        if self._running is not None:
            with contextlib.suppress(ProcessLookupError):
                self._running[1].terminate()
            self._running[1].wait()
