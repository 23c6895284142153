# SPDX-License-Identifier: Apache-2.0
"""Starts probes: places, limits, ends and records them. MockRunner stands in for the machine in tests.

The launcher (launch.c) does what must also happen when the lab itself is killed; this side reads what the probe says.
"""

from __future__ import annotations

import os
import random
import re
import secrets
import selectors
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from steelyard.errors import ProtocolError
from steelyard.measure import audit, catalog, pressure, protocol
from steelyard.measure.beside import AtWork, CannotWorkError, Helper, at_work
from steelyard.measure.energy import Meter
from steelyard.measure.machine import cpus_for, read
from steelyard.records import Case, Descriptor, Meta, Transcript, Value, Watched

#: Most that a probe may print; a run of 99 values is about 30 KiB.
OUTPUT_LIMIT = 8 << 20
_ERROR_TAIL = 64 << 10
#: What tells one version of a program from another: device, inode, size and time of change.
_Identity = tuple[int, int, int, int]
#: Most that a probe may write into one file or into its scratch folder, unless it says that it uses the disk.
FILE_LIMIT = 64 << 20
DISK_FILE_LIMIT = 4 << 30
#: The launcher ends a probe at the deadline by itself; this is how much later the lab stops waiting for the launcher.
_LAUNCHER_GRACE_S = 10.0
#: A scratch folder without the mark of its lab is left alone for so long: that lab may just be making it.
_NEWBORN_S = 60.0
_RUN_ID = re.compile("[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One run to be done: with a fixed number of operations, or a target length to find it, perhaps beside others."""

    case: Case
    program: Path
    descriptor: Descriptor
    values: int
    deadline_s: float
    operations: int | None = None
    target_ns: int | None = None
    tails_ns: int = 0
    padding: int = 0
    interpreter: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    beside: tuple[Helper, ...] = ()


class Outcome(Watched, frozen=True, kw_only=True):
    """What came of a run. ``transcript`` is there if and only if ``error`` is not."""

    transcript: Transcript | None = None


class Runner(Protocol):
    """Does one run at a time."""

    def run(self, request: Request) -> Outcome:
        """Do the run; never raises for what the probe does."""


class _Report(msgspec.Struct, frozen=True):
    """What the launcher says when all is over."""

    exit: int | None
    signal: int | None
    stopped: str | None
    stragglers: int
    stuck: int
    swept: int
    killed_by: int
    moved: bool
    real_time: bool
    wall_ns: int
    user_ns: int
    system_ns: int
    voluntary: int
    involuntary: int
    peak_rss_kib: int


@dataclass(slots=True)
class _Output:
    """What a run wrote, up to the limits."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)
    flooded: bool = False
    lost: bool = False


class ProcessRunner:
    """Runs probes as processes of this machine, in scratch folders under ``scratch``.

    ``hold``: descriptors that the launcher keeps open until the probe has ended, so that the machine stays locked for
    as long as anything is measured on it, also when the lab is killed.
    """

    def __init__(self, launcher: Path, cpus: tuple[int, ...], scratch: Path, hold: tuple[int, ...] = ()) -> None:
        self._launcher = launcher
        self._cpus = cpus
        self._scratch = scratch
        self._hold = hold
        self._programs: dict[Path, _Identity] = {}
        self._meter = Meter()

    def run(self, request: Request) -> Outcome:
        """Start the probe through the launcher and wait for both."""
        cpus = cpus_for(request.case.placement, self._cpus)
        started, clock = time.time(), time.monotonic()
        if not cpus:
            reason = f"placement {request.case.placement} needs two CPUs and {len(self._cpus)} may be used"
            return Outcome(started=started, wall_s=0.0, status="skipped", error=reason)
        if changed := self._changed(request.program):
            return Outcome(started=started, wall_s=0.0, status="failed", error=changed, cpus=cpus)
        try:
            with at_work(
                request.beside, cpus, self._cpus, self._scratch, self._start_helper, request.deadline_s
            ) as neighbours:
                return self._run(request, cpus, neighbours)
        except CannotWorkError as error:
            wall_s = time.monotonic() - clock
            return Outcome(started=started, wall_s=wall_s, status=error.status, error=str(error), cpus=cpus)

    def _run(self, request: Request, cpus: tuple[int, ...], neighbours: AtWork) -> Outcome:
        run_id = secrets.token_hex(6)
        started, clock = time.time(), time.monotonic()
        neighbours.begin()
        before, seen, energy = audit.cpu_times(cpus), pressure.look(cpus), self._meter.read()
        output = self._launch(request, cpus, run_id)
        wall_s = time.monotonic() - clock
        spent = self._meter.spent(energy)
        after, pressed = audit.cpu_times(cpus), pressure.between(seen, pressure.look(cpus), wall_s)
        beside = neighbours.worked()
        try:
            report = msgspec.json.decode(bytes(output.report), type=_Report)
        except msgspec.DecodeError:
            words = bytes(output.stderr).decode("utf-8", "replace").strip()
            lost = f"the launcher did not report: {words or 'it was killed'}"
            left = sweep(self._launcher, run_id, self._scratch)
            return Outcome(started=started, wall_s=wall_s, status="failed", error=lost, cpus=cpus, leftovers=left)
        own_s = (report.user_ns + report.system_ns) / 1e9 + sum(
            one.cpu_s for one in beside if not set(cpus).isdisjoint(one.cpus)
        )
        foreign, steal = audit.shares(before, after, own_s, wall_s, len(cpus))
        status, error, transcript = _judge(request, report, output)
        if status == "ok":
            neighbours.prove(beside)
        return Outcome(
            started=started,
            wall_s=wall_s,
            status=status,
            transcript=transcript,
            error=error,
            cpus=cpus,
            user_s=report.user_ns / 1e9,
            system_s=report.system_ns / 1e9,
            voluntary=report.voluntary,
            involuntary=report.involuntary,
            peak_rss_bytes=report.peak_rss_kib * 1024,
            foreign_share=foreign,
            steal_share=steal,
            throttled_s=pressed.throttled_s,
            throttled_by=pressed.throttled_by,
            waited=dict(pressed.waited),
            heat=pressed.heat,
            energy_j=spent,
            leftovers=_leftovers(report),
            beside=beside,
        )

    def _changed(self, program: Path) -> str | None:
        """Why a program is no longer the one that this session began with; None if it is."""
        try:
            there = program.stat()
        except OSError as error:
            return f"{program} is gone ({error.strerror}): build it again and begin a new session"
        identity = (there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns)
        if self._programs.setdefault(program, identity) != identity:
            return f"{program} changed while the session ran: begin a new session"
        return None

    def _command(
        self,
        program: Sequence[str],
        descriptor: Descriptor,
        cpus: tuple[int, ...],
        run_id: str,
        deadline_s: float,
        report: int,
    ) -> list[str]:
        """The launcher with this program: where it runs, how long and with which limits, and where to report."""
        limit = DISK_FILE_LIMIT if "disk" in descriptor.uses else FILE_LIMIT
        return [
            str(self._launcher),
            *("--run-id", run_id, "--parent", str(os.getpid())),
            *("--cpus", ",".join(map(str, cpus))),
            *("--deadline-ms", str(int(deadline_s * 1000))),
            *("--file-limit", str(limit)),
            *("--scratch", str(self._scratch / run_id)),
            *("--report", str(report)),
            "--",
            *program,
        ]

    def _start_helper(
        self, helper: Helper, cpu: int, run_id: str, arguments: list[str], deadline_s: float
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command(
                [*catalog.command(helper.program), *arguments], helper.descriptor, (cpu,), run_id, deadline_s, report=1
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=self._hold,
            env={**os.environ, **catalog.ENVIRONMENT, "STEELYARD_RUN_ID": run_id},
        )

    def _launch(self, request: Request, cpus: tuple[int, ...], run_id: str) -> _Output:
        read_end, write_end = os.pipe()
        arguments = protocol.run_arguments(
            request.case,
            values=request.values,
            deadline_s=request.deadline_s,
            operations=request.operations,
            target_ns=request.target_ns,
            tails_ns=request.tails_ns,
        )
        program = [*catalog.command(request.program, request.interpreter), *arguments]
        environment = {
            **os.environ,
            **catalog.ENVIRONMENT,
            **request.environment,
            "STEELYARD_RUN_ID": run_id,
            "STEELYARD_PADDING": "x" * request.padding,
        }
        try:
            process = subprocess.Popen(
                self._command(program, request.descriptor, cpus, run_id, request.deadline_s, write_end),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(write_end, *self._hold),
                env=environment,
            )
        finally:
            os.close(write_end)
        with process, os.fdopen(read_end, "rb", buffering=0) as report:
            try:
                return _listen(process, report, request.deadline_s + _LAUNCHER_GRACE_S)
            except BaseException:
                # The launcher ends the probe on SIGTERM; SIGKILL would leave the sweep undone.
                process.send_signal(signal.SIGTERM)
                process.wait()
                raise


def _listen(process: subprocess.Popen[bytes], report: object, patience_s: float) -> _Output:
    """Collect the three streams until all are closed; a probe that floods or a launcher that is stuck is ended."""
    output = _Output()
    end = time.monotonic() + patience_s
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output.stdout)  # type: ignore[arg-type]
        selector.register(process.stderr, selectors.EVENT_READ, output.stderr)  # type: ignore[arg-type]
        selector.register(report, selectors.EVENT_READ, output.report)  # type: ignore[arg-type]
        while selector.get_map():
            events = selector.select(max(0.0, end - time.monotonic()))
            if not events:
                output.lost = True
                process.kill()
                return output
            for key, _ in events:
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                    # A launcher that ends without its report was killed: what outlives it may hold the other streams.
                    if key.data is output.report and not output.report:
                        return output
                elif not (key.data is output.stdout and output.flooded):
                    key.data.extend(chunk)
            if len(output.stdout) > OUTPUT_LIMIT and not output.flooded:
                output.flooded = True
                process.terminate()
            if len(output.stderr) > _ERROR_TAIL:
                del output.stderr[:-_ERROR_TAIL]
    return output


def _judge(
    request: Request, report: _Report, output: _Output
) -> tuple[Literal["ok", "failed", "skipped"], str | None, Transcript | None]:
    """Status, error and transcript of a run that the launcher saw to its end."""
    if output.flooded:
        return "failed", f"printed more than {OUTPUT_LIMIT >> 20} MiB", None
    if report.stopped == "deadline":
        return "failed", f"did not finish within {request.deadline_s:g} s", None
    if report.stopped == "disk" or report.signal == signal.SIGXFSZ:
        return "failed", "wrote more to files than a probe of its kind may", None
    if report.stopped == "death":
        return "failed", f"one of its processes was killed by signal {report.killed_by} and it went on waiting", None
    if report.stopped:
        return "failed", f"was stopped by the launcher ({report.stopped})", None
    status, words = protocol.describe_exit(report.exit, report.signal, bytes(output.stderr))
    if status != "ok":
        return status, words, None
    try:
        transcript = protocol.parse_transcript(bytes(output.stdout), request.case, request.descriptor)
    except ProtocolError as error:
        return "failed", str(error), None
    if report.moved:
        return "failed", "it moved itself to other CPUs than those that it was given", None
    if report.real_time:
        return "failed", "it gave itself a real-time policy, under which nothing else is measured", None
    if len(transcript.values) > request.values:
        return "failed", f"it gave {len(transcript.values)} values where {request.values} were asked for", None
    if not all(value.wall_ns for value in transcript.values):
        return "failed", "a value of it took no time at all, so nothing was measured", None
    return "ok", None, transcript


def _leftovers(report: _Report) -> tuple[str, ...]:
    found = []
    if report.stragglers:
        found.append(f"{report.stragglers} processes outlived the probe and were killed")
    if report.stuck:
        found.append(f"{report.stuck} processes could not be killed")
    if report.swept:
        found.append(f"{report.swept} queues, semaphores or shared memory segments were removed")
    return tuple(found)


# --- scratch folders --------------------------------------------------------------------------------------------------

#: In each scratch folder of a lab: its process id and when that process started, in ticks since boot.
_OWNER = "lab"


def scratch_folder() -> Path:
    """A new folder for the scratch folders of this lab's runs; what dead labs and their runs left is removed first."""
    for old in Path(tempfile.gettempdir()).glob(f"steelyard-{os.getuid()}-*"):
        if _is_ours(old) and not _lives(old):
            _sweep_folder(old)
    return own_folder()


def own_folder() -> Path:
    """A new folder of this process for nobody else, which the next lab removes if this one is killed.

    Its name can't be foretold and nothing that lies there already is used: others can write to the folder that it
    stands in.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"steelyard-{os.getuid()}-"))
    (folder / _OWNER).write_text(f"{os.getpid()} {_started(os.getpid())}")
    return folder


def _is_ours(folder: Path) -> bool:
    """Whether this is a folder, no link to one, that only its owner could write to, and the owner is this user."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _lives(folder: Path) -> bool:
    """Whether the lab that made this folder still runs."""
    try:
        pid, started = (folder / _OWNER).read_text().split()
    except (OSError, ValueError):
        return time.time() - folder.lstat().st_mtime < _NEWBORN_S
    return _started(int(pid)) == started


def _started(pid: int) -> str | None:
    """When a process started, in ticks since boot; None if there is none of this number."""
    line = read(f"/proc/{pid}/stat")
    return line.rpartition(")")[2].split()[19] if line else None


def _sweep_folder(folder: Path) -> None:
    """Remove what the runs of a dead lab left, which the names of their folders tell, and then the folder."""
    for run in folder.iterdir():
        if run.is_dir() and _RUN_ID.fullmatch(run.name):
            sweep(catalog.native_folder() / "launch", run.name, folder)
    shutil.rmtree(folder, ignore_errors=True)


def sweep(launcher: Path, run_id: str, scratch: Path) -> tuple[str, ...]:
    """End and remove what a run left whose launcher was killed; returns what that was, a sentence each."""
    command = [str(launcher), "--run-id", run_id, "--scratch", str(scratch / run_id), "--report", "1", "--sweep"]
    try:
        swept = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=30)
        return _leftovers(msgspec.json.decode(swept.stdout, type=_Report))
    except (OSError, subprocess.TimeoutExpired, msgspec.DecodeError):
        return ("what it left could not be removed",)


@dataclass(slots=True)
class MockRunner:
    """Makes runs up: seconds an operation by case name, with seeded noise. Starts nothing and takes no time.

    ``costs`` maps a case's name to its cost; ``trouble`` may return an outcome to be had instead.
    """

    costs: Mapping[str, float] = field(default_factory=dict)
    noise: float = 0.02
    seed: int = 1
    trouble: Callable[[Request, int], Outcome | None] = lambda _request, _count: None
    requests: list[Request] = field(default_factory=list)

    def run(self, request: Request) -> Outcome:
        """Answer at once, the same for the same seed and the same requests so far."""
        self.requests.append(request)
        count = len(self.requests)
        if (outcome := self.trouble(request, count)) is not None:
            return outcome
        generator = random.Random(f"{self.seed}/{count}")  # noqa: S311 - made-up noise
        cost = self.costs.get(request.case.name, 100e-9)
        operations = request.operations or max(1, round((request.target_ns or 1_000_000) / 1e9 / cost))
        values = tuple(self._value(generator, request.descriptor, cost, operations) for _ in range(request.values))
        meta = Meta(
            protocol=1,
            probe=request.case.probe,
            parameters=request.case.parameters,
            placement=request.case.placement,
            operations=operations,
        )
        wall_s = sum(value.wall_ns for value in values) / 1e9
        return Outcome(
            started=float(count),
            wall_s=wall_s * 1.05,
            status="ok",
            transcript=Transcript(meta=meta, values=values),
            foreign_share=0.0,
            steal_share=0.0,
        )

    def _value(self, generator: random.Random, descriptor: Descriptor, cost: float, operations: int) -> Value:
        wall_ns = max(1, round(operations * cost * 1e9 * (1 + self.noise * abs(generator.gauss(0, 1)))))
        needed = {name for metric in descriptor.metrics for name in (metric.over, metric.per)}
        ordinary = {"wall", "cpu", "user", "system", "operations", "one"}
        counts = dict.fromkeys(needed - ordinary, operations)
        return Value(
            operations=operations,
            wall_ns=wall_ns,
            cpu_ns=wall_ns,
            user_ns=wall_ns,
            system_ns=0,
            counts={**counts, "checked": operations},
        )
