# SPDX-License-Identifier: Apache-2.0
"""Slurm: a batch job for each session, on its node, with the node to itself.

Only what every Slurm has is used: sbatch, squeue, sinfo, scontrol and scancel, and no accounting. Jobs are found again
by their name, which carries the fleet and the token, so a client that was killed loses nothing. Requeueing is allowed:
a job that Slurm runs twice brings one session, because a token has one.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard import errors
from steelyard.errors import BackendError, SteelyardError
from steelyard.measure.backends import Here, Unreachable
from steelyard.records import FleetJob, FleetNode, FleetOrder

_PROGRAMS = ("sbatch", "squeue", "sinfo", "scontrol", "scancel")
#: Slurm's own tools try for some time to reach the controller; this is when we stop waiting for them.
_ANSWER_S = 120.0
#: What the tools say while the controller is away, as opposed to what they say when something is wrong with a question.
_AWAY = re.compile(
    r"unable to contact slurm controller|connection refused|timed out|zero bytes were transmitted|socket|"
    r"communications? (connection )?(failure|shutdown)|unexpected message|try again",
    re.IGNORECASE,
)
#: States of a node, without the marks behind them, in which a job cannot begin there soon.
_UNUSABLE = {
    *("down", "drained", "draining", "drng", "drain", "fail", "failing", "failg", "error", "unknown", "future"),
    *("maint", "inval", "perfctrs", "no_respond", "blocked"),
}
_LIVE = {"running", "completing", "configuring", "stopped", "suspended", "signaling", "stage_out", "resizing"}
_QUEUED = {"pending", "requeued", "requeue_fed", "requeue_hold", "special_exit", "resv_del_hold"}
_ENDINGS = {
    "boot_fail": "its node did not boot",
    "cancelled": "it was cancelled",
    "deadline": "it met its deadline",
    "node_fail": "its node died",
    "out_of_memory": "it ran out of memory",
    "preempted": "it was preempted",
    "revoked": "it was revoked",
    "timeout": "it met its time limit: ask for more with --time-limit",
}


def missing() -> str | None:
    """What of Slurm's tools is not installed, or that they belong to no cluster; a controller may be away."""
    lacking = [name for name in _PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"{', '.join(lacking)} not found"
    try:
        _ask("sinfo", "--noheader", "--format=%P")
    except BackendError as error:
        return str(error)
    except Unreachable:
        return None
    return None


def here(environ: Mapping[str, str]) -> Here | None:
    """What Slurm tells a job: works as well under an sbatch or srun that was written by hand."""
    if "SLURM_JOB_ID" not in environ:
        return None
    job, task = environ["SLURM_JOB_ID"], environ.get("SLURM_ARRAY_TASK_ID", "")
    if task:
        job = f"{environ.get('SLURM_ARRAY_JOB_ID', job)}_{task}"
    return Here(
        backend="slurm",
        node=environ.get("SLURMD_NODENAME") or environ.get("SLURM_JOB_NODELIST", "unknown"),
        job=job,
        restart=_number(environ.get("SLURM_RESTART_COUNT", "")) or 0,
        number=_number(task) or None,  # an array may begin at 0, and sessions are counted from 1
        cpus=_number(environ.get("SLURM_CPUS_ON_NODE", "")),
    )


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def resolve(nodes: str | None, partition: str | None) -> list[str]:
    """The names of the nodes that are asked for: ``n[1-3],gpu7``, or all of a partition. Raises BackendError."""
    if nodes is None and partition is None:
        raise BackendError("which nodes? name them with --nodes, or a --partition for all of its nodes")
    listed = "" if nodes is None else ",".join(_ask("scontrol", "show", "hostnames", nodes).split())
    return [node.name for node in _nodes(listed, partition)]


def _nodes(listed: str, partition: str | None) -> list[FleetNode]:
    """Nodes of a comma separated list, or of a partition, or of a list in a partition; none may be unknown."""
    named = [f"--nodes={listed}"] if listed else []
    within = [f"--partition={partition}"] if partition else []
    found = parse_nodes(_ask("sinfo", "--noheader", "--Node", "--format=%N|%T|%E", *within, *named))
    where = f" in partition {partition}" if partition else ""
    lacking = sorted(set(listed.split(",")) - {node.name for node in found} - {""})
    if lacking or not found:
        raise BackendError(
            f"Slurm has no node {', '.join(lacking) or 'at all'}{where}: `sinfo --Node` lists what it has"
        )
    return found


def parse_nodes(text: str) -> list[FleetNode]:
    """The nodes that ``sinfo --Node --format=%N|%T|%E`` prints: name, long state, reason; each once."""
    found: dict[str, FleetNode] = {}
    for line in text.splitlines():
        name, _, rest = line.partition("|")
        state, _, reason = rest.partition("|")
        bare = state.rstrip("*~#!%$@^-+").lower()
        silent = state.endswith("*")
        # A mixture of states is joined by plus signs: "idle+drain".
        usable = not silent and not _UNUSABLE.intersection(bare.split("+"))
        why = "does not answer" if silent and bare not in _UNUSABLE else f"is {bare}"
        if reason not in ("", "none"):
            why += f" ({reason})"
        found[name] = FleetNode(name=name, usable=usable, said="" if usable else why)
    return list(found.values())


def parse_queue(text: str, prefix: str) -> dict[str, tuple[str, str, str]]:
    """Job, state and reason by token, from ``squeue --format=%i|%j|%T|%r``: of a token's jobs the one that counts.

    That is the one that lives, else the newest.
    """
    found: dict[str, tuple[str, str, str]] = {}
    for line in sorted(text.splitlines(), key=lambda line: _number(line.partition("|")[0]) or 0):
        job, name, state, reason = (*line.split("|", 3), "", "", "")[:4]
        token = name.removeprefix(prefix)
        if token == name:
            continue
        alive = token in found and found[token][1].lower() in _LIVE | _QUEUED
        if not alive or state.lower() in _LIVE | _QUEUED:
            found[token] = (job, state.lower(), reason)
    return found


def parse_job(text: str) -> dict[str, str]:
    """The fields of ``scontrol show job --oneliner``; values with spaces in them are cut, and none of ours has any."""
    return dict(pair.partition("=")[::2] for pair in text.split() if "=" in pair)


def _ended(job: str, state: str, exit_code: str) -> FleetJob:
    """What became of a job, from its state and its ``code:signal``; a code only where it is the job's own."""
    code, _, signal = exit_code.partition(":")
    number, by = _number(code), _number(signal)
    if state in _ENDINGS:
        return FleetJob(job=job, state="ended", said=_ENDINGS[state])
    if by:
        return FleetJob(job=job, state="ended", code=128 + by, said=f"it was ended by signal {by}")
    return FleetJob(job=job, state="ended", code=number, said=meaning(number) if number else "")


def meaning(code: int) -> str:
    """What an exit code of ours says; of another only its number."""
    kinds = (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SteelyardError))
    said = next((kind.__doc__ for kind in kinds if kind.exit_code == code), None)
    return f"exit code {code}" + (f": {said.partition('.')[0]}" if said else "")


class Backend:
    """The jobs of one fleet. Asks Slurm by its tools, each of which may find the controller away."""

    poll_s = 5.0

    def __init__(self, order: FleetOrder) -> None:
        self._order = order
        self._prefix = f"steelyard-{order.id}-"
        self._placed: dict[str, str] = {}
        self._endings: dict[str, FleetJob] = {}

    def nodes(self) -> list[FleetNode]:
        """What Slurm says of the nodes of the order."""
        return _nodes(",".join(self._order.nodes), self._order.partition)

    def place(self, token: str, node: str, command: Sequence[str], output: Path) -> None:
        """Submit a batch job."""
        order = self._order
        minutes = max(1, -(-int(order.time_limit_s) // 60))
        script = f"#!/bin/sh\nexec {shlex.join([*command, '--node', node])}\n"
        partition = [f"--partition={order.partition}"] if order.partition else []
        text = _ask(
            "sbatch",
            "--parsable",
            f"--job-name={self._prefix}{token}",
            f"--nodelist={node}",
            *("--nodes=1", "--ntasks=1", "--exclusive", "--requeue", "--open-mode=append"),
            f"--time={minutes}",
            f"--output={_literal(output)}",
            f"--chdir={output.parent}",
            *partition,
            *order.backend_options,
            script=script,
        )
        # With several clusters the answer is "job;cluster".
        self._placed[token] = text.strip().partition(";")[0]

    def jobs(self) -> dict[str, FleetJob]:
        """All jobs whose name is of this fleet; one that Slurm has forgotten has ended."""
        text = _ask("squeue", "--noheader", "--states=all", f"--user={os.getuid()}", "--format=%i|%j|%T|%r")
        known = parse_queue(text, self._prefix)
        found = {token: self._job(*job) for token, job in known.items()}
        for token, number in self._placed.items():
            if token not in found:
                found[token] = FleetJob(job=number, state="ended", said="Slurm has forgotten its job")
        return found

    def _job(self, job: str, state: str, reason: str) -> FleetJob:
        if state in _QUEUED:
            return FleetJob(job=job, state="queued", said="" if reason == "None" else reason)
        if state in _LIVE:
            return FleetJob(job=job, state="running")
        if job not in self._endings:
            try:
                fields = parse_job(_ask("scontrol", "show", "job", "--oneliner", job))
            except BackendError:  # forgotten since it was listed
                fields = {}
            self._endings[job] = _ended(job, state, fields.get("ExitCode", ""))
        return self._endings[job]

    def take_back(self, token: str) -> None:
        """Cancel the jobs of a token."""
        _ask("scancel", f"--name={self._prefix}{token}", f"--user={os.getuid()}")

    def close(self) -> None:
        """Nothing: jobs go on without us."""


def _literal(path: Path) -> str:
    """A path in which Slurm shall replace nothing."""
    return str(path).replace("\\", "\\\\").replace("%", "%%")


def _ask(program: str, *arguments: str, script: str | None = None) -> str:
    """What a tool of Slurm prints; raises Unreachable while the controller is away, BackendError when it refuses."""
    environment = {**os.environ, **_PLAIN}
    for name in _FORMATS:
        environment.pop(name, None)  # a user's own habits must not change what is read here
    try:
        done = subprocess.run(
            [program, *arguments],
            input=script if script is not None else "",
            capture_output=True,
            text=True,
            timeout=_ANSWER_S,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise Unreachable(f"{program} got no answer within {_ANSWER_S:g} s") from error
    except OSError as error:
        raise BackendError(f"{program} cannot be started: {error.strerror}") from error
    if done.returncode == 0:
        return done.stdout
    said = " ".join(_without_name(line) for line in done.stderr.splitlines() if line.strip()) or "no reason given"
    if _AWAY.search(said):
        raise Unreachable(f"Slurm's controller does not answer ({said})")
    raise BackendError(f"{program} refused: {said}")


_PLAIN = {"LC_ALL": "C"}
_FORMATS = ("SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SQUEUE_STATES", "SINFO_FORMAT", "SBATCH_EXPORT", "SQUEUE_SORT")


def _without_name(line: str) -> str:
    return re.sub(r"^\w+: (error: )?", "", line.strip())
