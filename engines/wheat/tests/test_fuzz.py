# SPDX-License-Identifier: Apache-2.0
"""The fuzz targets find nothing: from the kept corpus, a minute each on a machine that is there to test, and a few
seconds elsewhere."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from running import missing, tool

FOLDER = Path(__file__).parents[1] / "fuzz"
TARGETS = sorted(path.stem for path in (FOLDER / "fuzz_targets").glob("*.rs"))
SECONDS = 60 if os.environ.get("CI") else 3
AT_ONCE = 2


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, subprocess.CompletedProcess[str]]:
    """What each target ended with."""
    cargo = tool("cargo")
    compiler = tool("c++")
    del compiler  # libFuzzer is compiled from its source
    environment = os.environ | {"PATH": f"{Path(cargo).parent}:{os.environ['PATH']}"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [FOLDER / "run", *arguments], capture_output=True, text=True, errors="replace", env=environment, check=False
        )

    built = run("--build")
    if built.returncode:
        if "no matching package" in built.stderr or "failed to download" in built.stderr:
            missing("cargo can't get libfuzzer-sys")
        pytest.fail(built.stderr)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(TARGETS, pool.map(lambda name: run(name, str(SECONDS)), TARGETS), strict=True))


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_found(fuzzed: dict[str, subprocess.CompletedProcess[str]], name: str) -> None:
    done = fuzzed[name]
    assert done.returncode == 0, done.stderr[-3000:]
    kept = len(list((FOLDER / "corpus" / name).iterdir()))
    assert kept > 5
    units = int(done.stderr.partition("number_of_executed_units:")[2].split()[0])
    assert units > kept
