# SPDX-License-Identifier: Apache-2.0
"""SIGKILL for the lab, the launcher and the probe, at random moments: no finished run is lost and nothing is left."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import msgspec
import pytest

from steelyard.keep import session as sessions
from steelyard.measure import catalog, runner
from steelyard.measure.runner import ProcessRunner, Request
from tests import processes
from tests.integration.laboratory import ROGUE, a_laboratory
from tests.long import parts
from tests.making import a_case, a_descriptor

#: After so many labs one is left alone, to see how long a session takes now: others use this machine more and less.
EVERY = 25


def finished_runs(path: Path) -> list[str]:
    """The runs of rogues that a session kept, by its whole lines; a torn last line is not a line."""
    whole = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    lines = [msgspec.json.decode(line) for line in whole]
    return [line["case"] for line in lines if line["type"] == "run" and line["case"].startswith("rogue/")]


def begun_by(session: Path) -> list[str]:
    """The ids of the runs that the lab of this session began."""
    log = session.with_name(f"{session.name}.log")
    return [line.split()[1] for line in log.read_text().splitlines()] if log.exists() else []


def begin(server: subprocess.Popen[str], path: Path) -> int:
    """Let a lab begin this session; its process id."""
    print(path, file=server.stdin, flush=True)
    return int(server.stdout.readline())


@pytest.mark.parametrize(("part", "labs"), parts(100, 1000, 250))
def test_a_lab_that_is_killed_loses_no_finished_run_and_the_next_one_removes_what_is_left(tmp_path, part, labs):
    chance, hits = random.Random(part), 0
    with a_laboratory(tmp_path) as laboratory:
        rogue = processes.compiled(ROGUE, tmp_path / "rogue")
        laboratory.add(rogue, "rogue/well", "rogue/messy")
        command = [sys.executable, "-m", "tests.hostile.many_labs", str(tmp_path / "probes")]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=laboratory.environment(),
            cwd=Path(__file__).parents[2],
        ) as server:
            for number in range(labs):
                if number % EVERY == 0:
                    began = time.monotonic()
                    begin(server, tmp_path / f"whole.{number}.session.jsonl")
                    assert server.stdout.readline() == "over\n"
                    life_s = time.monotonic() - began
                path = tmp_path / f"{number}.session.jsonl"
                lab = begin(server, path)
                # Cubed: most of them early in its life, so that what the machine does meanwhile decides little.
                time.sleep(life_s * chance.random() ** 3)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(lab, signal.SIGKILL)
                assert server.stdout.readline() == "over\n"
                begun, kept = len(begun_by(path)), finished_runs(path)
                # A run that has begun may be in flight, or over and not written yet: no more than that one.
                assert len(kept) >= begun - 1, f"lab {number}: {begun} runs began and {len(kept)} were kept"
                if path.exists() and path.stat().st_size and b"\n" in path.read_bytes():
                    hits += sessions.read(path).end is None
            server.stdin.close()
        processes.until(lambda: not processes.marked(laboratory.mark), "no process of any lab is left")
        run_ids = {run_id for number in range(labs) for run_id in begun_by(tmp_path / f"{number}.session.jsonl")}
        left = {name for run_id in run_ids for name in processes.ipc_objects(run_id)}
        swept(laboratory.temporary)
        left |= set(laboratory.temporary.iterdir())
        assert not left
    assert len(run_ids) > labs / 4
    assert hits > labs / 4, "most kills came when the session was over"


def swept(folder: Path) -> None:
    """Do what the next session does first."""
    command = "import shutil; from steelyard.measure.runner import scratch_folder; shutil.rmtree(scratch_folder())"
    subprocess.run([sys.executable, "-c", command], check=True, env={**os.environ, "TMPDIR": str(folder)})


@pytest.mark.parametrize(("part", "launchers"), parts(30, 200))
def test_a_launcher_that_is_killed_leaves_nothing(tmp_path, monkeypatch, part, launchers):
    chance, lost = random.Random(part), 0
    log, program, scratch = tmp_path / "log", tmp_path / "rogue" / "messy", tmp_path / "scratch"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch.mkdir()
    processes.compiled(ROGUE, program)
    monkeypatch.setenv("ROGUE_LOG", str(log))
    request = Request(
        case=a_case("rogue/messy"),
        program=program,
        descriptor=a_descriptor("rogue/messy"),
        values=1,
        operations=10,
        deadline_s=60,
    )
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    for _ in range(launchers):
        killer = threading.Timer(chance.random() * 0.2, kill_launchers, [scratch])
        killer.start()
        outcome = ProcessRunner(catalog.native_folder() / "launch", cpus, scratch).run(request)
        killer.join()
        lost += outcome.error == "the launcher did not report: it was killed"
        assert list(scratch.iterdir()) == []
    run_ids = {line.split()[1] for line in log.read_text().splitlines()}
    assert not [name for run_id in run_ids for name in processes.ipc_objects(run_id)]
    assert all(processes.gone(run_id, "STEELYARD_RUN_ID") for run_id in run_ids)
    assert lost > launchers / 4, "most kills came when the run was over"


def kill_launchers(scratch: Path) -> None:
    """SIGKILL for the launcher that works in this folder."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ProcessLookupError):
            if (
                str(scratch).encode() in (folder / "cmdline").read_bytes()
                and (folder / "comm").read_text() == "launch\n"
            ):
                os.kill(int(folder.name), signal.SIGKILL)


def test_a_sweep_that_fails_is_said(tmp_path):
    assert runner.sweep(Path("/no/such/launcher"), "0" * 12, tmp_path) == ("what it left could not be removed",)
