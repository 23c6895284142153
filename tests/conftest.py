# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: they import their builders as `tests.making`, and no session of a person is touched."""

import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Timing never decides a test. `make fuzz` asks for the other profile.
settings.register_profile("default", deadline=None)
settings.register_profile("fuzz", deadline=None, max_examples=4000)
settings.load_profile("default")

# Who is started in the background of a script ignores Ctrl-C, and so would all programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `pytest` puts no folder on the path in importlib mode, and `python -m pytest` the working folder only.
sys.path.insert(0, str(Path(__file__).parents[1]))


#: What `make test` runs one test after the other, and beside each other: engines build for minutes, sessions wait for
#: the machine.
LANES = {
    "engines": ("engines/", "tests/integration/test_coroutine_engine.py"),
    "sessions": ("tests/integration/",),
    "pages": ("tests/e2e/",),
}


def _lane(path: str) -> str:
    return next((lane for lane, starts in LANES.items() if path.startswith(starts)), path)


def pytest_collection_modifyitems(items):
    """The lanes begin first."""
    places = {lane: place for place, lane in enumerate(LANES)}
    items.sort(key=lambda item: places.get(_lane(item.nodeid), len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """What is in no lane goes wherever there is room, file by file, and each probe by itself."""
    from xdist.scheduler import LoadScopeScheduling

    class Lanes(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path, _, _ = nodeid.partition("::")
            return nodeid if path == "tests/protocol/test_every_probe.py" else _lane(path)

    return Lanes(config, log)


@pytest.fixture(autouse=True)
def _a_sessions_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_SESSIONS", str(tmp_path / "sessions"))
