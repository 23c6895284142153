# SPDX-License-Identifier: Apache-2.0
"""engines/coro builds alone and passes its own tests, with clang, under each sanitizer and for AArch64 as well."""

import json
import os
import shutil
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
#: Each is built for a minute or more. The others have found races and undefined behaviour: CI builds all.
SHORT = ["release", "address"]


def test_there_are_presets():
    assert {"release", "clang", "address", "undefined", "thread", "aarch64"} <= set(PRESETS)


@pytest.mark.parametrize("preset", PRESETS if LONG or os.environ.get("CI") else SHORT)
def test_it_passes_its_own_tests(preset):
    tools = [Path(processes.tool(name)).parent for name in ("cmake", "ninja", "c++")]
    if preset == "aarch64" and not (shutil.which("aarch64-linux-gnu-g++") and shutil.which("qemu-aarch64")):
        processes.missing(
            "AArch64: no cross compiler or emulator (Debian: apt-get install g++-aarch64-linux-gnu qemu-user)"
        )
    if preset == "clang" and shutil.which("clang++") is None:
        processes.missing("clang: not installed (Debian: apt-get install clang)")
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


def test_it_knows_nothing_of_the_lab():
    for path in [*ENGINE.rglob("*.cpp"), *ENGINE.rglob("*.hpp")]:
        assert "steelyard" not in path.read_text().lower(), path
