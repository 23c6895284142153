# SPDX-License-Identifier: Apache-2.0
"""A server that goes wrong is a result with its reason, and nothing of it lives on."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.measure import catalog
from tests import processes

ROGUE = Path(__file__).parent / "rogue_server.py"
FAILING = {
    "exits": "the rogue exited with code 1 before it was ready (it says: the last word)",
    "never_ready": "the rogue was not ready within 1 s: [Errno 111] Connection refused",
    "goes_into_background": "the rogue exited with code 0 ",
    "dies_under_load": "the rogue was ended by signal 11 under load",
    "wrong_body": "the rogue answers wrongly: another body than expected, though as long",
    "wrong_under_load": "the rogue answers wrongly",
    "wrong_status_under_load": "the rogue answers wrongly",
    "leaks_connections": "the rogue leaks connections: ",
}


@pytest.fixture
def mark():
    made = processes.a_mark()
    yield made
    processes.kill_marked(made)


def ran(way: str, folder: Path, mark: str) -> subprocess.CompletedProcess[str]:
    """A short run of the rogue, as by hand."""
    processes.tool("wrk", "ab")
    program = folder / "request" / f"{way}.py"
    program.parent.mkdir()
    shutil.copy(ROGUE, program)
    environment = {
        **os.environ,
        processes.MARK: mark,
        "TMPDIR": str(folder),
        "ROGUE_SUPPORT": str(catalog.native_folder() / "probes" / "support" / "request"),
    }
    return subprocess.run(
        [sys.executable, program, "connections=3", "--operations", "40", "--values", "1", "--json"],
        capture_output=True, text=True, env=environment, timeout=processes.PATIENCE_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("way", FAILING)
def test_what_goes_wrong_is_the_reason_of_the_failure_and_nothing_lives_on(way, tmp_path, mark):
    result = ran(way, tmp_path, mark)
    assert result.returncode == 1
    assert result.stdout == ""
    assert FAILING[way] in result.stderr.splitlines()[-1]
    processes.until(lambda: processes.gone(mark), "the rogue is gone", 20)


def test_what_a_server_has_started_goes_with_it(tmp_path, mark):
    result = ran("leaves_child", tmp_path, mark)
    assert result.returncode == 0, result.stderr
    assert processes.gone(mark)
    assert [path.name for path in tmp_path.iterdir()] == ["request"], "and its folder, too"


def test_a_server_that_does_not_end_is_killed_and_said_so(tmp_path, mark):
    result = ran("ignores_the_end", tmp_path, mark)
    assert result.returncode == 0, result.stderr
    caveats = [line["text"] for line in map(json.loads, result.stdout.splitlines()) if line["type"] == "caveat"]
    assert [text for text in caveats if "SIGTERM" in text] == [
        "did not end within 0.5 s of signal SIGTERM and was killed"
    ]
    assert processes.gone(mark)
