# SPDX-License-Identifier: Apache-2.0
"""A laboratory in a folder of its own: the whole command line, with rogue probes beside the real ones."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from steelyard.keep import session as sessions
from steelyard.records import Session
from tests import processes

ROGUE = Path(__file__).parent / "rogue.c"
#: As quick as a session can be and still be one, with the usual deadline: on a busy machine a run may take seconds.
QUICK = ("--quick", "--target", "1ms", "--values", "2", "--blocks", "2", "--seed", "1")


def words(text: str) -> str:
    """A text without its line breaks: a log is wrapped at the width of a terminal."""
    return " ".join(text.split())


@dataclass
class Laboratory:
    """Everything that it starts has its mark, its TMPDIR and its folder of sessions."""

    folder: Path
    mark: str = field(default_factory=processes.a_mark)

    @property
    def session_path(self) -> Path:
        """The session file that tests use unless they say otherwise."""
        return self.folder / "a.session.jsonl"

    @property
    def log(self) -> Path:
        """Where rogues write their run ids."""
        return self.folder / "rogue.log"

    @property
    def temporary(self) -> Path:
        """The TMPDIR."""
        return self.folder / "tmp"

    def environment(self) -> dict[str, str]:
        """What all programs of this laboratory are started with."""
        self.temporary.mkdir(exist_ok=True)
        return {
            **os.environ,
            processes.MARK: self.mark,
            "TMPDIR": str(self.temporary),
            "STEELYARD_SESSIONS": str(self.folder / "sessions"),
            "STEELYARD_PROBES": str(self.folder / "probes") if (self.folder / "probes").exists() else "",
            "ROGUE_LOG": str(self.log),
            "COLUMNS": "200",
        }

    def add(self, program: Path, *names: str) -> None:
        """Put a program into the folder of probes, under each of these names."""
        for name in names:
            path = self.folder / "probes" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(program, path)

    def start(self, *arguments: object, **more: object) -> subprocess.Popen[str]:
        """Start a command and do not wait."""
        return subprocess.Popen(
            processes.command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=self.environment(),
            cwd=self.folder,
            text=True,
            **more,
        )

    def catch(self, process: subprocess.Popen[str], moment: Callable[[], object], what: str) -> None:
        """Wait for a moment in the life of a command; fails with what it said if it ends without one."""
        came = False

        def over() -> bool:
            nonlocal came
            ended = process.poll() is not None
            came = bool(moment())
            return came or ended

        processes.until(over, what)
        if not came:
            pytest.fail(f"the command ended before this: {what}\n{process.communicate()[1]}")

    def do(self, *arguments: object, **more: object) -> subprocess.CompletedProcess[str]:
        """Do a command to its end."""
        with self.start(*arguments, **more) as process:
            out, err = process.communicate(timeout=processes.PATIENCE_S)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """`steelyard run` of these, quickly, into the session file."""
        return self.do("run", *arguments, *QUICK, "-o", self.session_path)

    def session(self) -> Session:
        """What was kept."""
        return sessions.read(self.session_path)

    def run_ids(self) -> list[str]:
        """Ids of all runs of rogues."""
        return [line.split()[1] for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def assert_nothing_is_left(self) -> None:
        """No process, no IPC object, no scratch folder."""
        assert processes.marked(self.mark) == []
        assert [name for run_id in set(self.run_ids()) for name in processes.ipc_objects(run_id)] == []
        assert list(self.temporary.glob("*")) == []


@contextlib.contextmanager
def a_laboratory(folder: Path) -> Iterator[Laboratory]:
    """A laboratory whose processes are gone afterwards, whatever happened."""
    laboratory = Laboratory(folder)
    try:
        yield laboratory
    finally:
        processes.kill_marked(laboratory.mark)


@pytest.fixture
def laboratory(tmp_path: Path) -> Iterator[Laboratory]:
    """An empty laboratory for one test."""
    with a_laboratory(tmp_path) as made:
        yield made
