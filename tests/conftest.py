# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: they import their builders as `tests.making`, and no session of a person is touched."""

import collections
import functools
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Timing never decides a test. `make fuzz` asks for the other profile.
settings.register_profile("default", deadline=None)
settings.register_profile("fuzz", deadline=None, max_examples=4000)
settings.load_profile("default")

# A program in the background of a script ignores Ctrl-C, one under nohup the end of its terminal, and so would all
# programs that tests interrupt.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

# `pytest` puts no folder on the path in importlib mode, and `python -m pytest` the working folder only.
sys.path.insert(0, str(Path(__file__).parents[1]))


# What tests build in C and C++ is kept over their runs where ccache is installed.
if shutil.which("ccache"):
    os.environ.setdefault("CMAKE_C_COMPILER_LAUNCHER", "ccache")
    os.environ.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")

#: Files whose tests are spread one by one, because each takes long or there are thousands.
SPREAD = ("tests/protocol/test_every_probe.py", "tests/integration/test_coroutine_engine.py")
ROOT = Path(__file__).parents[1]


@functools.cache
def _lane(path: str) -> tuple[int, str]:
    """What runs one after the other, after its place in the order; what takes long begins first.

    Sessions have a lane because only one at a time may measure on a machine: in two lanes, one would wait for the
    other. wheat has one because its tests share what they build.
    """
    if "laboratory" in (ROOT / path).read_text():
        return 0, "sessions"
    return (1, "wheat") if path.startswith("engines/") else (2, path)


def pytest_collection_modifyitems(items):
    """The lanes begin first."""
    items.sort(key=lambda item: _lane(item.nodeid.partition("::")[0])[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """What is in no lane goes wherever there is room, file by file."""
    from xdist.scheduler import LoadScopeScheduling

    class Lanes(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path, _, _ = nodeid.partition("::")
            return nodeid if path in SPREAD else _lane(path)[1]

    return Lanes(config, log)


def pytest_terminal_summary(terminalreporter):
    """Every reason for which something was skipped, once, with how many tests it kept from running."""
    reports = terminalreporter.getreports("skipped")
    reasons = collections.Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    if reasons:
        terminalreporter.section("skipped")
    for reason, number in sorted(reasons.items()):
        terminalreporter.write_line(f"{number:5}  {' '.join(reason.split())}")


@pytest.fixture(autouse=True)
def _a_sessions_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_SESSIONS", str(tmp_path / "sessions"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
