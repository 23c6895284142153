# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet run`: measure a plan on many machines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.errors import BackendError, UsageError
from steelyard.keep import fleet
from steelyard.keep.fleet import FleetFolder
from steelyard.keep.session import now
from steelyard.lab.fleet import Driver, time_limit_s, tokens_of
from steelyard.lab.signals import ended_in_order
from steelyard.measure import backends
from steelyard.measure.backends import Unreachable
from steelyard.records import FleetOrder
from steelyard.show.console import Console
from steelyard.show.fleet import Board
from steelyard.units import parse_duration


def command(
    plan: Path,
    *,
    backend: Annotated[str | None, Parameter(name=("--backend", "--engine"))] = None,
    nodes: str | None = None,
    partition: str | None = None,
    sessions: int = 1,
    output_folder: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("fleet"),
    time_limit: str | None = None,
    start_within: str = "24h",
    node_wait: str = "1m",
    even_if_busy: bool = False,
    lock_wait: str | None = None,
    sbatch: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None,
    poll: str | None = None,
) -> None:
    """Measure the same plan on each of many machines, one session at a time on each.

    The sessions come back into a folder that all machines share, each whole or not at all. What keeps a machine from
    it is said in a line and the others go on; `steelyard fleet resume` does only what is missing. When this command is
    ended, the jobs of a cluster go on without it.

    Parameters
    ----------
    plan
        File that `steelyard fleet plan` wrote.
    backend
        What places the work: ``slurm``, or ``local`` for this machine alone. Default: Slurm where it is, else local.
    nodes
        Which machines: ``n1,n2`` or ``n[1-3]``.
    partition
        All machines of this partition, or with ``--nodes`` where they are looked for.
    sessions
        How many sessions each machine shall measure.
    output_folder
        Folder of the fleet; it must not be one yet.
    time_limit
        Longest that one session may take, waiting for the machine included. Default: four times what is expected, and
        half an hour at least.
    start_within
        How long a job may stay in the queue until it is taken back.
    node_wait
        How long a node may be down or drained until what is queued for it is taken back.
    even_if_busy
        Measure although others use a machine; its session says so.
    lock_wait
        How long a session may wait while another one measures on its machine. Default: what the plan says (``--wait``,
        ``--no-wait``), else half an hour.
    sbatch
        A further option for sbatch: ``--sbatch=--account=physics``. May be repeated.
    poll
        How often the backend is asked.
    """
    if sessions < 1:
        raise UsageError("--sessions must be at least 1")
    try:
        what = fleet.read_plan(plan.read_bytes(), str(plan))
    except OSError as error:
        raise UsageError(f"{plan} cannot be read: {error.strerror}") from error
    name = backend or backends.default()
    if name == backends.LOCAL and sbatch:
        raise UsageError("--sbatch is for --backend slurm")
    try:
        found = backends.resolve(name, nodes, partition)
    except Unreachable as away:
        raise BackendError(f"{away}: try again later") from away
    if len(set(found)) < len(found):
        raise UsageError(f"--nodes names a node twice: {','.join(found)}")
    limit_s = parse_duration(time_limit) if time_limit else time_limit_s(what)
    order = FleetOrder(
        id=os.urandom(4).hex(),
        at=now(),
        backend=name,
        nodes=tuple(found),
        sessions=sessions,
        time_limit_s=limit_s,
        node_options=(
            *(["--lock-wait", lock_wait] if lock_wait else []),
            *(["--even-if-busy"] if even_if_busy else []),
        ),
        backend_options=tuple(sbatch or ()),
        partition=partition,
    )
    if lock_wait:
        parse_duration(lock_wait)
    tokens_of(order)  # before anything is written: a name or a number that no fleet has
    folder = FleetFolder(output_folder.absolute())
    folder.begin(what, order)
    drive(folder, order, start_within=start_within, node_wait=node_wait, poll=poll)


def drive(folder: FleetFolder, order: FleetOrder, *, start_within: str, node_wait: str, poll: str | None) -> None:
    """Drive a fleet to its end, telling on standard error how it goes."""
    waits = parse_duration(start_within), parse_duration(node_wait)
    words = Console(stderr=True)
    try:
        with ended_in_order(), Board(words) as board:
            driver = Driver(folder, order, board, start_within_s=waits[0], node_wait_s=waits[1])
            driver.drive(parse_duration(poll) if poll else None)
    except KeyboardInterrupt:
        words.print("interrupted; what is there is kept: go on with")
        words.print(f"  steelyard fleet resume {folder.path}", soft_wrap=True)
        raise
    output.say(f"{folder.path}: complete; `steelyard fleet report {folder.path}` judges its machines")
