# SPDX-License-Identifier: Apache-2.0
"""The part of a fleet that runs on a machine. Whole sessions leave it, or none."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from dataclasses import dataclass, replace

import msgspec

import steelyard
from steelyard.errors import (
    CasesFailedError,
    Interrupted,
    NothingMeasuredError,
    SelectionError,
    SessionFileError,
    SteelyardError,
    StorageError,
    VersionError,
)
from steelyard.keep import fleet
from steelyard.keep.fleet import FleetFolder, HeartbeatLog
from steelyard.keep.session import SUFFIX
from steelyard.lab.messages import Messages
from steelyard.lab.output import put
from steelyard.lab.session import Lab
from steelyard.measure import audit, backends, conduct, machine
from steelyard.measure.plan import NULL
from steelyard.measure.runner import own_folder
from steelyard.records import Audit, Case, CasePattern, FleetPlan, Header, Heartbeat, Line, Placed, Run, Session, Skip
from steelyard.show.visible import visible_lines

#: How often a node says how far it is.
_HEARTBEAT_EVERY_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One session of a fleet, on this machine.

    ``folder``: where it goes; standard output when None. ``idle_wait_s``: None where the machine need not be idle.
    """

    plan: FleetPlan
    folder: FleetFolder | None
    token: str
    here: backends.Here
    lock_wait_s: float
    idle_wait_s: float | None


def measure_part(part: Part, messages: Messages) -> None:
    """Measure a session and deliver it, unless it is there; says in the folder of the fleet how it goes."""
    folder, here = part.folder, part.here
    heartbeats = HeartbeatLog(folder, part.token, here.job, here.restart)
    try:
        heartbeats.add(Heartbeat(at=0, what="begun"))
        if part.plan.steelyard != steelyard.__version__:
            raise VersionError(
                f"this is Steelyard {steelyard.__version__} and the plan is of {part.plan.steelyard}: install that one "
                "here"
            )
        if folder is not None:
            folder.begin(part.plan)
        if folder is not None and part.token in folder.delivered():
            messages.say(f"the session of {part.token} is there already")
        else:
            _give_way(here)
            _Measuring(part, heartbeats, messages).measure()
    except SteelyardError as error:
        heartbeats.add(Heartbeat(at=0, what="ended", code=error.exit_code, said=str(error)))
        raise
    except KeyboardInterrupt as error:
        if isinstance(error, Interrupted) and error.exit_code == fleet.TOLD_TO_STOP:
            messages.say(f"steelyard: the session of {part.token} was told to stop; nothing of it is kept")
            heartbeats.add(Heartbeat(at=0, what="ended", code=fleet.TOLD_TO_STOP, said="it was told to stop"))
        else:
            heartbeats.add(Heartbeat(at=0, what="ended", code=130, said="it was interrupted"))
        raise
    heartbeats.add(Heartbeat(at=0, what="ended", code=0))


def _give_way(here: backends.Here) -> None:
    """Keep to as many CPUs as were allocated, where the backend itself does not hold us to them.

    The last ones, because CPU 0 takes most interrupts. Others may have been given the same; the audit sees their load.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if here.cpus is not None and 0 < here.cpus < len(allowed):
        os.sched_setaffinity(0, allowed[-here.cpus :])


class _Told:
    """Progress that is shown here and written as heartbeats."""

    def __init__(self, shown: conduct.Progress, heartbeats: HeartbeatLog) -> None:
        self._shown, self._heartbeats = shown, heartbeats
        self._last = 0.0
        self._done = self._of = 0

    def begin(self, stage: str, seconds: float, runs: int) -> None:
        self._shown.begin(stage, seconds, runs)
        self._done, self._of = 0, runs
        self._say(seconds)

    def ran(self, run: Run, seconds_left: float) -> None:
        self._shown.ran(run, seconds_left)
        self._done += run.attempt == 1
        if time.monotonic() - self._last >= _HEARTBEAT_EVERY_S:
            self._say(seconds_left)

    def repeating(self, runs: int) -> None:
        self._shown.repeating(runs)

    def _say(self, left_s: float) -> None:
        self._last = time.monotonic()
        self._heartbeats.add(
            Heartbeat(at=0, what="measuring", done=self._done, of=max(self._done, self._of), left_s=left_s)
        )


class _Measuring:
    """One session of a fleet, from the lock of the machine to the folder."""

    def __init__(self, part: Part, heartbeats: HeartbeatLog, messages: Messages) -> None:
        self._part, self._heartbeats, self._messages = part, heartbeats, messages
        patterns = {name: CasePattern.parse(name) for name in part.plan.cases}
        wanted = {pattern.probe for pattern in patterns.values() if pattern}
        self._lab = Lab(only=wanted | {NULL}, messages=messages)
        self._settings = replace(part.plan.settings, seed=_seed(part.plan.settings.seed, part.token))

    def measure(self) -> None:
        """Wait for the machine, measure, deliver; raises SteelyardError with what was in the way."""
        part, here = self._part, self._part.here
        cases, skips = self._cases()
        if not cases:
            raise NothingMeasuredError(f"no case of the plan can be measured here: {skips[0].reason}")
        header = self._lab.header(cases, self._settings)
        began = time.monotonic()
        with machine.lock(self._wait, part.lock_wait_s) as held:
            if part.folder is not None and part.token in part.folder.delivered():
                return  # another one measured it while this one waited
            lock_wait_s = time.monotonic() - began
            self._heartbeats.add(Heartbeat(at=0, what="locked", machine_key=self._lab.host.key))
            if part.idle_wait_s is not None:
                audit.wait_until_idle(self._lab.host, part.idle_wait_s)
            placed = Placed(
                plan=part.plan.id,
                token=part.token,
                node=fleet.node_of(part.token),
                backend=here.backend,
                job=here.job,
                restart=here.restart,
                lock_wait_s=lock_wait_s,
                idle_wait_s=None if part.idle_wait_s is None else time.monotonic() - began - lock_wait_s,
            )
            session = self._session(msgspec.structs.replace(header, placed=placed), skips, held)
        failed = sorted({run.case for run in session.runs if run.status == "failed"})
        if failed:
            raise CasesFailedError(f"the session of {part.token} is there, but {', '.join(failed[:3])} failed in it")

    def _wait(self, holder: str) -> None:
        self._lab.say_that_it_waits(holder)
        self._heartbeats.add(Heartbeat(at=0, what="waiting", said="another session measures on its machine"))

    def _cases(self) -> tuple[list[Case], list[Skip]]:
        """The cases of the plan that this machine has, and why it has not the others."""
        cases, skips = [], []
        for name in self._part.plan.cases:
            try:
                cases += self._lab.select([name], [], [])
            except SelectionError as error:
                skips.append(Skip(subject=name, reason=str(error)))
        return list(dict.fromkeys(cases)), skips

    def _session(self, header: Header, skips: list[Skip], held: tuple[int, ...]) -> Session:
        """Measure into a folder of this machine's own, and deliver from there."""
        own = own_folder()
        try:
            path = own / f"{self._part.token}{SUFFIX}"
            try:
                with self._messages.progress(self._part.token, header.titles) as shown:
                    session = self._lab.measure_alone(
                        header,
                        path,
                        held,
                        _Told(shown, self._heartbeats),
                        self._settings,
                        skips=skips,
                        last_words=self._audit_after,
                    )
                contents = path.read_bytes()
            except SessionFileError as error:
                if isinstance(error.__cause__, OSError):
                    said = f"{own}: {error.__cause__.strerror}; nothing of the session was kept: make room there"
                    raise StorageError(said) from error
                raise
            self._deliver(contents)
            return session
        finally:
            shutil.rmtree(own, ignore_errors=True)

    def _audit_after(self) -> list[Line]:
        return [Audit(moment="after", disturbances=audit.audit(self._lab.host))]

    def _deliver(self, contents: bytes) -> None:
        part = self._part
        if part.folder is None:
            put(visible_lines(fleet.frame(part.token, part.plan.id, contents)))
            return
        part.folder.deliver(part.token, contents)
        self._heartbeats.add(Heartbeat(at=0, what="delivered", machine_key=self._lab.host.key))
        self._messages.say(f"delivered: {part.folder.session(part.token)}")


def _seed(seed: int | None, token: str) -> int:
    """Each session has an order of runs of its own, which the plan's seed and its token give again."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{token}".encode()).digest()[:4], "big")
