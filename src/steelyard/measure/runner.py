# SPDX-License-Identifier: Apache-2.0
"""Starts probes: places, limits, ends and records them. MockRunner stands in for the machine in tests.

The launcher (launch.c) does what must also happen when the lab itself is killed; this side reads what the probe says.
"""

from __future__ import annotations

import os
import random
import secrets
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from steelyard.errors import ProtocolError
from steelyard.measure import audit, catalog, protocol
from steelyard.measure.machine import cpus_for
from steelyard.records import Case, Descriptor, Meta, Transcript, Value

#: Most that a probe may print; a run of 99 values is about 30 KiB.
OUTPUT_LIMIT = 8 << 20
_ERROR_TAIL = 64 << 10
#: Most that a probe may write into one file or into its scratch folder, unless it says that it uses the disk.
FILE_LIMIT = 64 << 20
DISK_FILE_LIMIT = 4 << 30
#: The launcher ends a probe at the deadline by itself; this is how much later the lab stops waiting for the launcher.
_LAUNCHER_GRACE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One run to be done: with a fixed number of operations, or a target length to find it."""

    case: Case
    program: Path
    descriptor: Descriptor
    values: int
    deadline_s: float
    operations: int | None = None
    target_ns: int | None = None
    padding: int = 0
    interpreter: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run. ``transcript`` is there if and only if ``error`` is not."""

    started: float
    wall_s: float
    status: Literal["ok", "failed", "skipped"]
    transcript: Transcript | None = None
    error: str | None = None
    cpus: tuple[int, ...] = ()
    user_s: float = 0.0
    system_s: float = 0.0
    voluntary: int = 0
    involuntary: int = 0
    peak_rss_bytes: int = 0
    foreign_share: float | None = None
    steal_share: float | None = None
    leftovers: tuple[str, ...] = ()


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

    def run(self, request: Request) -> Outcome:
        """Start the probe through the launcher and wait for both."""
        cpus = cpus_for(request.case.placement, self._cpus)
        started, clock = time.time(), time.monotonic()
        if not cpus:
            reason = f"placement {request.case.placement} needs two CPUs and {len(self._cpus)} may be used"
            return Outcome(started=started, wall_s=0.0, status="skipped", error=reason)
        before = audit.cpu_times(cpus)
        output = self._launch(request, cpus)
        wall_s = time.monotonic() - clock
        after = audit.cpu_times(cpus)
        try:
            report = msgspec.json.decode(bytes(output.report), type=_Report)
        except msgspec.DecodeError:
            words = bytes(output.stderr).decode("utf-8", "replace").strip()
            lost = f"the launcher did not report: {words or 'it was killed'}"
            return Outcome(started=started, wall_s=wall_s, status="failed", error=lost, cpus=cpus)
        own_s = (report.user_ns + report.system_ns) / 1e9
        foreign, steal = audit.shares(before, after, own_s, wall_s, len(cpus))
        status, error, transcript = _judge(request, report, output)
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
            leftovers=_leftovers(report),
        )

    def _launch(self, request: Request, cpus: tuple[int, ...]) -> _Output:
        run_id = secrets.token_hex(6)
        limit = DISK_FILE_LIMIT if "disk" in request.descriptor.uses else FILE_LIMIT
        read_end, write_end = os.pipe()
        command = [
            str(self._launcher),
            *("--run-id", run_id, "--parent", str(os.getpid())),
            *("--cpus", ",".join(map(str, cpus))),
            *("--deadline-ms", str(int(request.deadline_s * 1000))),
            *("--file-limit", str(limit)),
            *("--scratch", str(self._scratch / run_id)),
            *("--report", str(write_end)),
            "--",
            *catalog.command(request.program, request.interpreter),
            *protocol.run_arguments(
                request.case,
                values=request.values,
                deadline_s=request.deadline_s,
                operations=request.operations,
                target_ns=request.target_ns,
            ),
        ]
        environment = {
            **os.environ,
            **request.environment,
            "STEELYARD_RUN_ID": run_id,
            "STEELYARD_PADDING": "x" * request.padding,
        }
        try:
            process = subprocess.Popen(
                command,
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
    if report.stopped:
        return "failed", f"was stopped by the launcher ({report.stopped})", None
    status, words = protocol.describe_exit(report.exit, report.signal, bytes(output.stderr))
    if status != "ok":
        return status, words, None
    try:
        transcript = protocol.parse_transcript(bytes(output.stdout), request.case, request.descriptor)
    except ProtocolError as error:
        return "failed", str(error), None
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


def scratch_folder() -> Path:
    """A folder of this lab process for the scratch folders of its runs; folders of dead labs are removed first."""
    root = Path(tempfile.gettempdir())
    for old in root.glob(f"steelyard-{os.getuid()}-*"):
        pid = old.name.rsplit("-", 1)[-1]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(old, ignore_errors=True)
    folder = root / f"steelyard-{os.getuid()}-{os.getpid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


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
