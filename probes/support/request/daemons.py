# SPDX-License-Identifier: Apache-2.0
"""A program that runs beside the probe and answers others: the server that is weighed, and what its application asks.

It runs under a launcher of its own (src/steelyard/measure/launch.c), so that it ends, and its folder goes, also when
this process is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from typing import Dict, List, Optional, Sequence

from processes import children

_LAUNCH = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "launch"))


class Daemon:
    """Started at once, in `folder`, which the launcher removes in the end; `cpus` None leaves it where this process is.

    `pid` is the launcher's: the tree below it is the program with all that it has started.
    """

    def __init__(
        self, command: Sequence[str], folder: str, cpus: Optional[Sequence[int]], environment: Dict[str, str]
    ) -> None:
        read_end, write_end = os.pipe()
        # Without a name: the launcher removes the folder, and last words stay.
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the program
        self._folder = folder
        self._report_end = read_end
        self._launcher = subprocess.Popen(
            [
                *(_LAUNCH, "--run-id", os.path.basename(folder), "--parent", str(os.getpid())),
                *(() if cpus is None else ("--cpus", ",".join(map(str, cpus)))),
                *("--deadline-ms", str(round(signal.getitimer(signal.ITIMER_REAL)[0] * 1000))),
                *("--scratch", folder, "--report", str(write_end), "--", *command),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._words,
            stderr=self._words,
            pass_fds=(write_end,),
            env=environment,
        )
        os.close(write_end)
        self.pid = self._launcher.pid

    def has_ended(self) -> bool:
        """Whether its launcher is through with it."""
        return self._launcher.poll() is not None

    def is_gone(self) -> bool:
        """The same once it has been up: then its launcher has ended, or is about to when it has tidied up."""
        if not self.has_ended() and os.path.isdir(self._folder) and children(self.pid):
            return False
        self._launcher.wait()
        return True

    def how_it_ended(self) -> str:
        """In words, after its name; only when it has."""
        report = self._report()
        code, by = report.get("exit"), report.get("signal")
        return f"was ended by signal {by}" if by is not None else f"exited with code {code}"

    def said(self) -> str:
        """Its last words, in brackets; empty if it said nothing."""
        self._words.seek(0)
        text = self._words.read()[-4000:].decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f" (it says: {lines[-1][:200]})" if lines else ""

    def end(self, by: signal.Signals, within_s: float) -> List[str]:
        """Ask it to stop, and end what does not; returns what is to be said of that."""
        complaints = []
        for pid in children(self.pid)[:1]:
            os.kill(pid, by)
        try:
            self._launcher.wait(within_s)
        except subprocess.TimeoutExpired:
            complaints.append(f"did not end within {within_s:g} s of signal {by.name} and was killed")
            self._launcher.terminate()
            self._launcher.wait()
        if stuck := self._report().get("stuck"):
            complaints.append(f"{stuck} of its processes could not be killed")
        return complaints

    def _report(self) -> Dict[str, Optional[int]]:
        report: Dict[str, Optional[int]] = json.loads(os.read(self._report_end, 4096) or b"{}")
        return report
