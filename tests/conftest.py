# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: they import their builders as `tests.making`, and no session of a person is touched."""

import sys
from pathlib import Path

import pytest

# `pytest` puts no folder on the path in importlib mode, and `python -m pytest` the working folder only.
sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(autouse=True)
def _a_sessions_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_SESSIONS", str(tmp_path / "sessions"))
