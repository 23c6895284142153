# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet node`: the part of a fleet that runs on a machine. Whole sessions leave it, or none."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import msgspec
from cyclopts import Parameter
from rich.console import Console

import steelyard
from steelyard.cli._session import Lab, Settings
from steelyard.errors import (
    CasesFailedError,
    NothingMeasuredError,
    SelectionError,
    SessionFileError,
    SteelyardError,
    StorageError,
    UsageError,
    VersionError,
)
from steelyard.keep import fleet
from steelyard.keep.fleet import FleetFolder, Speaker
from steelyard.keep.session import SUFFIX
from steelyard.measure import audit, conduct, engines, machine
from steelyard.measure.plan import NULL
from steelyard.records import Audit, Case, CasePattern, FleetPlan, Header, Line, Placed, Run, Session, Skip, Word
from steelyard.show.progress import progress
from steelyard.units import parse_duration

_STDOUT = "-"
#: How often a node says how far it is.
_WORD_EVERY_S = 2.0


def command(
    plan: Annotated[str, Parameter(allow_leading_hyphen=True)],
    *,
    to: Annotated[str, Parameter(allow_leading_hyphen=True)],
    node: str | None = None,
    session: int | None = None,
    lock_wait: str = "30m",
    idle_wait: str = "2m",
    even_if_busy: Annotated[bool, Parameter(negative="")] = False,
) -> int | None:
    """Measure one session of a plan on this machine and bring it into the folder of its fleet.

    What `steelyard fleet run` starts on every node. It stands alone as well: in a batch script of your own, or over
    ssh. One session measures on a machine at a time, whoever started it; a session that is there already is not
    measured again. Exit codes: 0 the session is there; 71 it is there, and some of its cases failed; 69 nothing could
    be measured here; 74 no room for it; 75 the machine is not free; 78 this is another version than the plan's.

    Parameters
    ----------
    plan
        File of the plan; ``-`` reads it from standard input.
    to
        Folder of the fleet, on a file system that all machines share; ``-`` writes the session to standard output, for
        `steelyard fleet collect`.
    node
        Name of this machine in its fleet. Default: what Slurm calls it, else its host name.
    session
        Which of this machine's sessions it is. Default: the task of a Slurm array, else 1.
    lock_wait
        How long to wait while another session measures on this machine.
    idle_wait
        How long to wait for this machine to be idle.
    even_if_busy
        Measure although others use the machine; the session says so.
    """
    here = engines.here(os.environ)
    token = fleet.token_of(node or here.node, session or here.number or 1)
    patience = parse_duration(lock_wait), None if even_if_busy else parse_duration(idle_wait)
    what = _read(plan)
    folder = None if to == _STDOUT else FleetFolder(Path(to).absolute())
    words = Console(stderr=True, highlight=False)
    speaker = Speaker(folder, token, here.job, here.restart)
    signal.signal(signal.SIGTERM, _stop)
    sys.stderr = _LosableWords(io.FileIO(2, "w", closefd=False))
    try:
        speaker.say(Word(at=0, what="begun"))
        if what.steelyard != steelyard.__version__:
            raise VersionError(
                f"this is Steelyard {steelyard.__version__} and the plan is of {what.steelyard}: install that one here"
            )
        if folder is not None:
            folder.begin(what)
        if folder is not None and token in folder.delivered():
            words.print(f"the session of {token} is there already", markup=False)
        else:
            _give_way(here)
            _Part(what, folder, token, here, speaker, words).measure(*patience)
    except SteelyardError as error:
        speaker.say(Word(at=0, what="ended", code=error.exit_code, said=str(error)))
        raise
    except _StoppedError:
        words.print(f"steelyard: the session of {token} was told to stop; nothing of it is kept", markup=False)
        speaker.say(Word(at=0, what="ended", code=fleet.TOLD_TO_STOP, said="it was told to stop"))
        return fleet.TOLD_TO_STOP
    except KeyboardInterrupt:
        speaker.say(Word(at=0, what="ended", code=130, said="it was interrupted"))
        raise
    speaker.say(Word(at=0, what="ended", code=0))
    return None


class _LosableWords(io.TextIOWrapper):
    """Standard error that loses what has no place: Slurm keeps it in a file, which may lie on the disk that is full."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            os.write(self.fileno(), text.encode(errors="replace"))
        return len(text)


class _StoppedError(Exception):
    """SIGTERM: from Slurm at a time limit or a cancellation, or from whoever started this."""


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _StoppedError


def _read(plan: str) -> FleetPlan:
    if plan == _STDOUT:
        return fleet.read_plan(sys.stdin.buffer.read(), "standard input")
    try:
        return fleet.read_plan(Path(plan).read_bytes(), plan)
    except OSError as error:
        raise UsageError(f"{plan} cannot be read: {error.strerror}") from error


def _give_way(here: engines.Here) -> None:
    """Keep to as many CPUs as were allocated, where the engine itself does not hold us to them.

    The last ones: CPU 0 takes most interrupts. Which of them others were given nobody says; the audit sees their load.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if here.cpus is not None and 0 < here.cpus < len(allowed):
        os.sched_setaffinity(0, allowed[-here.cpus :])


class _Told:
    """Progress that is shown here and said in the folder of the fleet."""

    def __init__(self, shown: conduct.Progress, speaker: Speaker) -> None:
        self._shown, self._speaker = shown, speaker
        self._last = 0.0
        self._done = self._of = 0

    def begin(self, stage: str, seconds: float, runs: int) -> None:
        self._shown.begin(stage, seconds, runs)
        self._done, self._of = 0, runs
        self._say(seconds)

    def ran(self, run: Run, seconds_left: float) -> None:
        self._shown.ran(run, seconds_left)
        self._done += run.attempt == 1
        if time.monotonic() - self._last >= _WORD_EVERY_S:
            self._say(seconds_left)

    def _say(self, left_s: float) -> None:
        self._last = time.monotonic()
        self._speaker.say(Word(at=0, what="measuring", done=self._done, of=max(self._done, self._of), left_s=left_s))


class _Part:
    """One session of a fleet, from the lock of the machine to the folder."""

    def __init__(
        self,
        plan: FleetPlan,
        folder: FleetFolder | None,
        token: str,
        here: engines.Here,
        speaker: Speaker,
        words: Console,
    ) -> None:
        self._plan, self._folder, self._token = plan, folder, token
        self._here, self._speaker, self._words = here, speaker, words
        patterns = {name: CasePattern.parse(name) for name in plan.cases}
        wanted = {pattern.probe for pattern in patterns.values() if pattern}
        self._lab = Lab(only=wanted | {NULL})

    def measure(self, lock_wait_s: float, idle_wait_s: float | None) -> None:
        """Wait for the machine, measure, deliver; raises SteelyardError with what was in the way."""
        settings = Settings(
            blocks=self._plan.blocks,
            budget=self._plan.budget,
            quick=self._plan.quick,
            seed=_seed(self._plan.seed, self._token),
            target=self._plan.target,
            values=self._plan.values,
            deadline=self._plan.deadline,
        )
        cases, skips = self._cases()
        if not cases:
            raise NothingMeasuredError(f"no case of the plan can be measured here: {skips[0].reason}")
        header = self._lab.header(cases, settings)
        began = time.monotonic()
        with machine.lock(self._wait, lock_wait_s) as held:
            if self._folder is not None and self._token in self._folder.delivered():
                return  # another one measured it while this one waited
            lock_wait_s = time.monotonic() - began
            self._speaker.say(Word(at=0, what="locked", machine_key=self._lab.host.key))
            if idle_wait_s is not None:
                audit.wait_until_idle(self._lab.host, idle_wait_s)
            placed = Placed(
                plan=self._plan.id,
                token=self._token,
                node=fleet.node_of(self._token),
                engine=self._here.engine,
                job=self._here.job,
                restart=self._here.restart,
                lock_wait_s=lock_wait_s,
                idle_wait_s=None if idle_wait_s is None else time.monotonic() - began - lock_wait_s,
            )
            session = self._session(msgspec.structs.replace(header, placed=placed), skips, held)
        failed = sorted({run.case for run in session.runs if run.status == "failed"})
        if failed:
            raise CasesFailedError(f"the session of {self._token} is there, but {', '.join(failed[:3])} failed in it")

    def _wait(self) -> None:
        self._lab.say_that_it_waits()
        self._speaker.say(Word(at=0, what="waiting", said="another session measures on its machine"))

    def _cases(self) -> tuple[list[Case], list[Skip]]:
        """The cases of the plan that this machine has, and why it has not the others."""
        cases, skips = [], []
        for name in self._plan.cases:
            try:
                cases += self._lab.select([name], [], [])
            except SelectionError as error:
                skips.append(Skip(subject=name, reason=str(error)))
        return list(dict.fromkeys(cases)), skips

    def _session(self, header: Header, skips: list[Skip], held: tuple[int, ...]) -> Session:
        """Measure into a folder of this machine's own, and deliver from there."""
        with tempfile.TemporaryDirectory(prefix=f"steelyard-{os.getuid()}-fleet-", suffix=f"-{os.getpid()}") as own:
            path = Path(own) / f"{self._token}{SUFFIX}"
            try:
                with progress(self._words, self._token) as shown:
                    session = self._lab.measure_alone(
                        header,
                        path,
                        held,
                        _Told(shown, self._speaker),
                        deadline=self._plan.deadline,
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

    def _audit_after(self) -> list[Line]:
        return [Audit(moment="after", disturbances=audit.audit(self._lab.host))]

    def _deliver(self, contents: bytes) -> None:
        if self._folder is None:
            sys.stdout.write(fleet.frame(self._token, self._plan.id, contents))
            sys.stdout.flush()
            return
        self._folder.deliver(self._token, contents)
        self._speaker.say(Word(at=0, what="delivered", machine_key=self._lab.host.key))
        self._words.print(f"delivered: {self._folder.session(self._token)}", markup=False, soft_wrap=True)


def _seed(seed: int, token: str) -> int:
    """Each session has an order of runs of its own, which the plan's seed and its token give again."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{token}".encode()).digest()[:4], "big")
