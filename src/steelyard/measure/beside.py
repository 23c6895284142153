# SPDX-License-Identifier: Apache-2.0
"""Neighbours at work: processes that keep the machine busy while a run goes on, and prove that they did.

Each is a probe under a launcher of its own, with ``--tally``: it adds up what it has done in a file that is read here.
"""

from __future__ import annotations

import secrets
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from steelyard.measure import protocol
from steelyard.measure.machine import cpus_beside
from steelyard.records import Descriptor, Neighbour, Worked

#: How long a batch of a neighbour is: what is not finished when a run ends is not counted.
BATCH_NS = 2_000_000
#: Longest that a neighbour may take until its first batch is done, and to end.
PATIENCE_S = 30.0
_LOOK_S = 0.002
#: The operations and the CPU time in ns that a probe has in its file.
_TALLY = struct.Struct("=QQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Helper:
    """A neighbour with its program."""

    neighbour: Neighbour
    program: Path
    descriptor: Descriptor

    @property
    def name(self) -> str:
        """The name of its case."""
        return self.neighbour.case.name


#: Starts the launcher of a helper on a CPU, under the id of a run of its own, with the arguments of its probe and the
#: time after which it is to be ended in any case; the launcher reports to standard output.
Start = Callable[[Helper, int, str, list[str], float], subprocess.Popen[bytes]]


class CannotWorkError(Exception):
    """A neighbour does not work; ``status`` is that of the run that wanted it."""

    def __init__(self, reason: str, status: Literal["failed", "skipped"] = "failed") -> None:
        super().__init__(reason)
        self.status: Literal["failed", "skipped"] = status


class _Ended(msgspec.Struct, frozen=True):
    """What is read of the launcher's report."""

    exit: int | None
    signal: int | None


@dataclass(frozen=True, slots=True)
class _Process:
    """A neighbour on one CPU."""

    name: str
    cpu: int
    tally: Path
    launcher: subprocess.Popen[bytes]

    def done(self) -> tuple[int, int]:
        """Operations and CPU time in ns so far."""
        operations, cpu_ns = _TALLY.unpack(self.tally.read_bytes())
        return operations, cpu_ns

    def check(self) -> None:
        """Raise CannotWorkError if the neighbour has ended by itself."""
        if self.launcher.poll() is None:
            return
        out, words = self.launcher.communicate()
        try:
            report = msgspec.json.decode(out, type=_Ended)
        except msgspec.DecodeError:
            report = _Ended(exit=self.launcher.returncode, signal=None)
        status, why = protocol.describe_exit(report.exit, report.signal, words)
        if status == "skipped":
            raise CannotWorkError(f"its neighbour cannot work here: {why}", "skipped")
        raise CannotWorkError(f"its neighbour {self.name} {'ended by itself' if status == 'ok' else why}")

    def wait_for_work(self, end: float) -> None:
        """Return when the first batch is done; raises CannotWorkError if it never is."""
        while self.done()[0] == 0:
            self.check()
            if time.monotonic() > end:
                raise CannotWorkError(f"its neighbour {self.name} did nothing for {PATIENCE_S:g} s")
            time.sleep(_LOOK_S)

    def end(self) -> None:
        """End it with all that it has started."""
        if self.launcher.poll() is None:
            self.launcher.send_signal(signal.SIGTERM)
        try:
            self.launcher.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:  # what is stuck in the kernel cannot be waited for
            self.launcher.kill()
            self.launcher.communicate()
        self.tally.unlink(missing_ok=True)


class AtWork:
    """The neighbours of a run, all of them at work."""

    def __init__(self, processes: Sequence[_Process]) -> None:
        self._processes = processes
        self._before = self._done()

    def _done(self) -> list[tuple[int, int]]:
        return [process.done() for process in self._processes]

    def begin(self) -> None:
        """From here on their work counts."""
        self._before = self._done()

    def worked(self) -> tuple[Worked, ...]:
        """What they have done since."""
        since: dict[str, list[tuple[int, int, int]]] = {}
        for process, first, last in zip(self._processes, self._before, self._done(), strict=True):
            since.setdefault(process.name, []).append((process.cpu, last[0] - first[0], last[1] - first[1]))
        return tuple(
            Worked(
                case=name,
                cpus=tuple(cpu for cpu, _, _ in each),
                operations=tuple(operations for _, operations, _ in each),
                cpu_s=sum(cpu_ns for _, _, cpu_ns in each) / 1e9,
            )
            for name, each in since.items()
        )

    def prove(self, worked: Sequence[Worked]) -> None:
        """Raise CannotWorkError where one of them has ended by itself or did nothing."""
        for process in self._processes:
            process.check()
        for one in worked:
            for cpu, operations in zip(one.cpus, one.operations, strict=True):
                if operations == 0:
                    raise CannotWorkError(
                        f"its neighbour {one.case} finished nothing on CPU {cpu} meanwhile: give longer runs "
                        "(--values, --target)"
                    )


@contextmanager
def at_work(
    helpers: Sequence[Helper],
    run: tuple[int, ...],
    allowed: tuple[int, ...],
    folder: Path,
    start: Start,
    deadline_s: float,
) -> Iterator[AtWork]:
    """Neighbours of a run on the CPUs ``run``, at work while this lasts; raises CannotWorkError where they can't.

    folder: for their files. deadline_s: longest that the run may take.
    """
    places = [(helper, cpus_beside(helper.neighbour.where, run, allowed)) for helper in helpers]
    if alone := next((helper for helper, cpus in places if not cpus), None):
        words = f"it leaves no CPU to its neighbour {alone.name}: put @same behind the neighbour"
        raise CannotWorkError(words, "skipped")
    own_deadline_s = deadline_s + 2 * PATIENCE_S
    with ExitStack() as stack:
        processes = []
        for helper, cpus in places:
            for cpu in cpus:
                run_id = secrets.token_hex(6)
                tally = folder / f"{run_id}.tally"
                tally.write_bytes(bytes(_TALLY.size))
                ordinary = protocol.run_arguments(
                    helper.neighbour.case, values=1, deadline_s=own_deadline_s, target_ns=BATCH_NS
                )
                launcher = start(helper, cpu, run_id, [*ordinary, "--tally", str(tally)], own_deadline_s)
                process = _Process(helper.name, cpu, tally, launcher)
                stack.callback(process.end)
                processes.append(process)
        end = time.monotonic() + PATIENCE_S
        for process in processes:
            process.wait_for_work(end)
        yield AtWork(processes)
