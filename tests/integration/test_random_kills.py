# SPDX-License-Identifier: Apache-2.0
"""Any probe, killed at any moment: no process, queue, semaphore, segment, socket or file of it is left."""

import contextlib
import os
import random
import secrets
import signal
import subprocess
import time
from pathlib import Path

import pytest

from steelyard.measure import catalog, protocol
from tests import processes
from tests.long import LONG

MOMENTS = 200 if LONG else 50
FOLDERS = catalog.probe_folders()
WANTED = ["message/*", "lock/*"]


@pytest.fixture(scope="module")
def found():
    return catalog.load_only(FOLDERS, catalog.named(FOLDERS, WANTED))


def started(program, case, run_id, scratch):
    """The launcher with a probe that would take longer than the test."""
    arguments = protocol.run_arguments(case, values=100_000, deadline_s=60, target_ns=10_000_000)
    launch = (catalog.native_folder() / "launch", "--run-id", run_id, "--scratch", scratch, "--report", "1")
    return subprocess.Popen(
        [*launch, "--", program, *arguments],
        env={**os.environ, "STEELYARD_RUN_ID": run_id},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill_what_it_started(launcher):
    """SIGKILL for the probe itself, as early as it may be."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for pid in Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split():
            os.kill(int(pid), signal.SIGKILL)


def sockets():
    """Names of the UNIX sockets that have any."""
    return {line.split()[7] for line in Path("/proc/net/unix").read_text().splitlines()[1:] if len(line.split()) > 7}


def test_random_moments_leave_nothing(found, tmp_path):
    # Hundreds of contexts only make the moments longer, not other.
    small = [case for case in catalog.select(found, WANTED, {}, []) if int(case.parameters.get("contexts", 1)) <= 8]
    chance, run_ids = random.Random(20), []
    for moment in range(MOMENTS):
        case = chance.choice(small)
        run_id, scratch = secrets.token_hex(6), tmp_path / str(moment)
        run_ids.append(run_id)
        launcher = started(found.probes[case.probe].path, case, run_id, scratch)
        time.sleep(chance.choice((0.001, 0.005, 0.02, 0.05)) * chance.random() * 2)
        kill_what_it_started(launcher)
        if chance.random() < 0.5:
            launcher.terminate()
        # A kill that came before the probe was there found nothing to kill; then the launcher ends it.
        with contextlib.suppress(subprocess.TimeoutExpired):
            launcher.wait(0.5)
        launcher.terminate()
        launcher.wait(20)
        assert processes.gone(run_id, "STEELYARD_RUN_ID"), case.name
        assert not processes.ipc_objects(run_id), case.name
        assert not scratch.exists(), case.name
    ours = (*run_ids, str(tmp_path))
    processes.until(lambda: not [name for name in sockets() if any(one in name for one in ours)], "no socket is left")
