# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: they import their builders as `tests.making`, and no session of a person is touched."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Timing never decides a test. `make fuzz` asks for the other profile.
settings.register_profile("default", deadline=None)
settings.register_profile("fuzz", deadline=None, max_examples=4000)
settings.load_profile("default")

# `pytest` puts no folder on the path in importlib mode, and `python -m pytest` the working folder only.
sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(autouse=True)
def _a_sessions_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_SESSIONS", str(tmp_path / "sessions"))
