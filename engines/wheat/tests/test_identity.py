# SPDX-License-Identifier: Apache-2.0
"""--user and --group: a master that is root has its workers run as somebody else."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import program, run, serving

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that every user may enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can have workers run as somebody else")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def ids(pid: int, what: str) -> set[int]:
    """Of all kinds: real, effective, saved, of the file system."""
    found = re.search(rf"^{what}:(.*)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return set(map(int, found[1].split()))


@pytest.mark.parametrize(
    ("arguments", "user", "group", "groups"),
    [
        (["--user", "nobody"], NOBODY, None, None),
        (["--user", "12345", "--group", "54321"], 12345, 54321, {54321}),
        (["--group", "54321"], 0, 54321, {54321}),
    ],
)
def test_workers_are_somebody_else(folder: Path, arguments, user, group, groups) -> None:
    (folder / "open").write_text("open")
    (folder / "closed").write_text("closed")
    (folder / "closed").chmod(0o600)
    with serving("--static", f"/={folder}", *arguments, folder=folder) as server:
        [worker] = server.workers()
        assert ids(server.pid, "Uid") == {0}
        assert ids(worker, "Uid") == {user}
        assert 0 not in ids(worker, "Gid")
        assert group is None or ids(worker, "Gid") == {group}
        assert groups is None or ids(worker, "Groups") == groups
        assert 0 not in ids(worker, "Groups")
        assert server.get("/open") == (200, b"open")
        assert server.get("/closed")[0] == (200 if user == 0 else 403)
        assert server.end() == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--user", "no-such-user"], 78, "--user no-such-user: there is no such user"),
        (["--group", "no-such-group"], 78, "--group no-such-group: there is no such group"),
        (["--user", "12345"], 64, "--user 12345: this number is of no user: say --group too"),
    ],
)
def test_somebody_unknown_is_said(folder: Path, arguments, code, words) -> None:
    done = run("--static", "/=.", "--bind", "127.0.0.1:0", *arguments, folder=folder)
    assert (done.returncode, words in done.stderr, done.stderr.count("\n")) == (code, True, 1), done.stderr


def test_an_interpreter_that_the_user_cannot_reach_is_said(folder: Path) -> None:
    (folder / "app.py").touch()
    (folder / "closed").mkdir(mode=0o700)
    (folder / "closed/python3").symlink_to("/bin/true")
    python = folder / "closed/python3"
    done = run("app", "--python", python, "--user", "nobody", "--bind", "127.0.0.1:0", folder=folder)
    why = "this user may not read it (the one of --user, who needs the folders above it as well)"
    assert (done.returncode, done.stderr) == (69, f"wheat: {python} can't be started: {why}\n")


def test_only_root_can_do_it(folder: Path) -> None:
    copy = folder / "wheat"  # where another user can run it
    copy.write_bytes(Path(program()).read_bytes())
    copy.chmod(0o755)
    done = run("--static", "/=.", "--user", "nobody", folder=folder, executable=copy, user=NOBODY)
    assert (done.returncode, done.stderr.count("\n")) == (69, 1)
    assert "--user: only root can" in done.stderr
