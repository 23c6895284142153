# SPDX-License-Identifier: Apache-2.0
"""engines/coro builds alone and passes its own tests, with clang, under each sanitizer and for AArch64 as well."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests import processes
from tests.long import LONG

ENGINE = Path(__file__).parents[2] / "engines" / "coro"
PRESETS = [
    preset["name"]
    for preset in json.loads((ENGINE / "CMakePresets.json").read_text())["configurePresets"]
    if not preset.get("hidden")
]
#: Each is built for a minute or more. The others have found races and undefined behaviour: `.ci/run` builds them too.
SHORT = ["address"]


def test_there_are_presets():
    assert {"release", "clang", "address", "undefined", "thread", "aarch64"} <= set(PRESETS)


@pytest.mark.parametrize("preset", PRESETS if LONG else SHORT)
def test_it_passes_its_own_tests(preset):
    tools = [Path(processes.tool(name)).parent for name in ("cmake", "ninja", "c++")]
    for name in {"aarch64": ("aarch64-linux-gnu-g++", "qemu-aarch64"), "clang": ("clang++",)}.get(preset, ()):
        processes.tool(name)
    path = os.pathsep.join([*map(str, tools), os.environ["PATH"]])
    done = subprocess.run(
        [ENGINE / "check", preset],
        env={**os.environ, "CORO_GENERATOR": "Ninja", "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "100% tests passed" in done.stdout, done.stdout[-4000:]


@pytest.mark.skipif(not LONG, reason="ten minutes of random stops are for make test-all")
def test_ten_minutes_of_random_stops_lose_no_task_and_leak_no_frame():
    for command in (
        ["cmake", "--preset", "release"],
        ["cmake", "--build", "build/release", "--target", "coro_cancel"],
        ["build/release/stress/coro_cancel", "seconds=600", "threads=2"],
    ):
        done = subprocess.run(command, cwd=ENGINE, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "none lost" in done.stdout


def test_it_knows_nothing_of_the_lab():
    for path in [*ENGINE.rglob("*.cpp"), *ENGINE.rglob("*.hpp")]:
        assert "steelyard" not in path.read_text().lower(), path
