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


#: What `make test` runs one test after the other, and beside each other: engines build for minutes, sessions wait for
#: the machine.
LANES = {
    "engines": ("engines/", "tests/integration/test_coroutine_engine.py"),
    "sessions": ("tests/integration/", "tests/e2e/"),
}


def _lane(path: str) -> str:
    return next((lane for lane, starts in LANES.items() if path.startswith(starts)), path)


@pytest.hookimpl(tryfirst=True)  # before the plugin that reads the groups
def pytest_collection_modifyitems(items):
    """The lanes begin first; the rest goes wherever there is room, file by file, and each probe by itself."""
    lanes = {item: _lane(item.path.relative_to(item.config.rootpath).as_posix()) for item in items}
    for item, lane in lanes.items():
        if lane != "tests/protocol/test_every_probe.py":
            item.add_marker(pytest.mark.xdist_group(lane))
    first = list(LANES)
    items.sort(key=lambda item: first.index(lanes[item]) if lanes[item] in first else len(first))


@pytest.fixture(autouse=True)
def _a_sessions_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_SESSIONS", str(tmp_path / "sessions"))
