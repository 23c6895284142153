# SPDX-License-Identifier: Apache-2.0
"""Builds the fuzz targets and runs them, all in the background and after everything else in priority."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "fuzz"
TARGETS = sorted(path.stem for path in (FOLDER / "fuzz_targets").glob("*.rs"))
SECONDS = 60 if os.environ.get("STEELYARD_LONG") else 3  # as `make test-all` has it
AT_ONCE = 2


class Fuzzing:
    """`built` and each of `ended` become what that process ended with."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._processes: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._over = False
        self.built: Future[subprocess.CompletedProcess[str]] = self._pool.submit(self._run, "--build")
        self.ended = {name: self._pool.submit(self._fuzz, name) for name in TARGETS}

    def __enter__(self) -> Fuzzing:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends what nobody waits for any more."""
        with self._lock:
            self._over = True
            for process in self._processes:
                os.killpg(process.pid, signal.SIGKILL)
        self._pool.shutdown(cancel_futures=True)

    def _fuzz(self, name: str) -> subprocess.CompletedProcess[str] | None:
        return None if self.built.result().returncode else self._run(name, str(SECONDS))

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        path = f"{os.environ['PATH']}:{Path.home() / '.cargo/bin'}"
        command = [shutil.which("nice") or "nice", "-n", "19", str(FOLDER / "run"), *arguments]
        with self._lock:
            if self._over:
                return subprocess.CompletedProcess(command, 1, "", "not wanted any more")
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=os.environ | {"PATH": path},
                start_new_session=True,
            )
            self._processes.add(process)
        out, words = process.communicate()
        with self._lock:
            self._processes.discard(process)
        return subprocess.CompletedProcess(command, process.returncode, out, words)
