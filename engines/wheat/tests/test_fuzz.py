# SPDX-License-Identifier: Apache-2.0
"""The fuzz targets find nothing: from the kept corpus, a few seconds each, and a minute where there is time."""

from __future__ import annotations

import pytest
from fuzzing import FOLDER, TARGETS, Fuzzing
from running import missing, tool


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_found(fuzzing: Fuzzing, name: str) -> None:
    tool("cargo")
    tool("c++")  # libFuzzer is compiled from its source
    built = fuzzing.built.result()
    if built.returncode:
        if "no matching package" in built.stderr or "failed to download" in built.stderr:
            missing("cargo can't get libfuzzer-sys")
        pytest.fail(built.stderr)
    done = fuzzing.ended[name].result()
    assert done is not None
    assert done.returncode == 0, done.stderr[-3000:]
    kept = len(list((FOLDER / "corpus" / name).iterdir()))
    assert kept > 5
    units = int(done.stderr.partition("number_of_executed_units:")[2].split()[0])
    assert units > kept
