# SPDX-License-Identifier: Apache-2.0
"""`--reload`: a change of the code is served soon after, and code that can't be imported changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import run, serving, until

APPLICATION = """
def application(environ, start_response):
    import pages.front
    start_response("200 OK", [])
    return [pages.front.TEXT + b" FIRST"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APPLICATION)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/front.py").write_text("TEXT = b'front'\n")
    return tmp_path


@pytest.mark.parametrize("options", [[], ["--threads", 2, "--workers", 2], ["--preload"]])
def test_a_change_is_served(folder: Path, options: list) -> None:
    with serving("app", "--reload", *options, folder=folder) as server:
        assert server.get()[1] == b"front FIRST"
        (folder / "app.py").write_text(APPLICATION.replace("FIRST", "SECOND"))
        server.wait_for("wheat: app.py has changed")
        until(lambda: server.get()[1] == b"front SECOND", "the new code answers")
        server.wait_for("wheat: reloaded")
        beside = folder / "pages/.front.py.new"
        beside.write_text("TEXT = b'side'\n")
        beside.replace(folder / "pages/front.py")
        until(lambda: server.get()[1] == b"side SECOND", "a module that was imported by a request, and replaced")
        (folder / "notes.txt").write_text("no module")
        (folder / ".hidden.py").write_text("no module")
        assert server.end() == 0
        assert sum("has changed" in line for line in server.said) == 2


def test_code_that_cannot_be_imported_changes_nothing(folder: Path) -> None:
    with serving("app", "--reload", folder=folder) as server:
        (folder / "app.py").write_text("def application(:\n")
        server.wait_for("SyntaxError")
        server.wait_for("the reload is given up: the workers of before go on")
        assert server.get()[1] == b"front FIRST"
        (folder / "app.py").write_text(APPLICATION.replace("FIRST", "THIRD"))
        until(lambda: server.get()[1] == b"front THIRD", "once it is mended the new code answers")


def test_without_an_application_there_is_nothing_to_reload(folder: Path) -> None:
    done = run("--static", "/=.", "--reload", folder=folder)
    assert (done.returncode, "--reload need an application" in done.stderr) == (64, True)
