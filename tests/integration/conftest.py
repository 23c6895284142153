# SPDX-License-Identifier: Apache-2.0
"""What many of these tests want: a laboratory, the rogue, a session, a browser."""

import functools

import pytest

from steelyard.keep import session as sessions
from steelyard.measure import catalog
from tests import described, processes
from tests.integration.laboratory import ROGUE, laboratory  # noqa: F401 - a fixture
from tests.unit.judge.sessions import steady, weighed


@pytest.fixture(scope="session", autouse=True)
def _probes_are_asked_once(pytestconfig):
    """What installed probes say of themselves is kept for the commands that tests call: asking all takes seconds."""
    installed, ask = catalog.native_folder(), catalog.describe
    ask_once, known = functools.cache(ask), described.known(pytestconfig)

    def answer(path, name):
        if not path.is_relative_to(installed):
            return ask(path, name)
        return known.get(name) or ask_once(path, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "describe", answer)
        yield


@pytest.fixture(scope="session")
def rogue(tmp_path_factory):
    """The program of all rogues."""
    return processes.compiled(ROGUE, tmp_path_factory.mktemp("rogue") / "rogue")


@pytest.fixture
def kept():
    """A session of two calls, which is the newest."""
    session = weighed({"call/syscall@same": steady(150e-9), "call/direct@same": steady(1.4e-9)})
    path = sessions.sessions_folder() / f"20260102T030405-x{sessions.SUFFIX}"
    with sessions.SessionWriter.create(path, session.header) as writer:
        for line in (session.plan, *session.runs):
            writer.append(line)
    return path


@pytest.fixture(scope="module")
def browser():
    """Chromium, which asks no network."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        processes.missing("playwright is not installed")
    program = processes.tool("chromium", "chromium-browser", "google-chrome")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()
