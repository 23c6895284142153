# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: they import their builders as `tests.making`, and no session of a person is touched."""

import collections
import functools
import itertools
import os
import shutil
import signal
import sys
import tempfile
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

# Sessions of a worker take turns, those of several do not: nobody reads the figures of a test, so they need not wait
# for each other, and a person's own session does not wait for them.
LOCK = Path(tempfile.gettempdir()) / f"steelyard-tests-{os.getpid()}.lock"
os.environ["STEELYARD_LOCK"] = str(LOCK)

_NUMBERS = itertools.count()
ROOT = Path(__file__).parents[1]
#: Files whose tests go wherever there is room, because each takes long.
LONG_EACH = ("tests/e2e/test_pages.py", "tests/integration/test_coroutine_engine.py")
#: The same because there are thousands, which fill what is left.
MANY = ("tests/protocol/test_every_probe.py",)


@functools.cache
def _place(path: str) -> int:
    """When the tests of a file begin: first what takes long, so that nothing long is left when the rest is done."""
    if path in LONG_EACH or path.startswith("engines/"):
        return 0
    if path in MANY:
        return 3
    return 1 if "laboratory" in (ROOT / path).read_text() else 2


def pytest_collection_modifyitems(items):
    """What takes long begins first."""
    items.sort(key=lambda item: _place(item.nodeid.partition("::")[0]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """The tests of a file stay together, because they share what they make; wheat's files share one build."""
    from xdist.scheduler import LoadScopeScheduling

    class Lanes(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path, _, _ = nodeid.partition("::")
            if path in LONG_EACH + MANY:
                return nodeid
            return "wheat" if path.startswith("engines/") else path

    return Lanes(config, log)


def pytest_unconfigure():
    """The lock of this process goes with it."""
    LOCK.unlink(missing_ok=True)


def pytest_terminal_summary(terminalreporter):
    """Every reason for which something was skipped, once, with how many tests it kept from running."""
    reports = terminalreporter.getreports("skipped")
    reasons = collections.Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    if reasons:
        terminalreporter.section("skipped")
    for reason, number in sorted(reasons.items()):
        terminalreporter.write_line(f"{number:5}  {' '.join(reason.split())}")


@pytest.fixture(autouse=True)
def _a_sessions_folder_of_its_own(tmp_path_factory, monkeypatch):
    # By name alone: a folder for each of thousands of tests, of which few use it, takes longer than most of them.
    own = tmp_path_factory.getbasetemp() / "own"
    own.mkdir(exist_ok=True)
    number = next(_NUMBERS)
    monkeypatch.setenv("STEELYARD_SESSIONS", str(own / f"sessions{number}"))
    monkeypatch.setenv("XDG_DATA_HOME", str(own / f"data{number}"))
