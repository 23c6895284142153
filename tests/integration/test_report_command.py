# SPDX-License-Identifier: Apache-2.0
"""`steelyard report` as a user has it."""

import shutil

import pytest

from steelyard.__main__ import main
from steelyard.keep import session as sessions
from tests.reporting import GOLDEN

WHOLE = GOLDEN / "whole.session.jsonl"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_writes_page_and_figures_and_ends_with_the_path(in_a_folder, capsys):
    assert main(["report", str(WHOLE), "-o", "out/page.html", "--figures", "figures"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "out/page.html"
    page = (in_a_folder / "out" / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    written = {path.name for path in (in_a_folder / "figures").iterdir()}
    assert {"prices-0.svg", "prices-0.png", "curve-0.svg", "curve-0.png"} <= written


def test_without_a_session_it_takes_the_newest(in_a_folder, capsys):
    folder = sessions.sessions_folder()
    folder.mkdir()
    shutil.copy(GOLDEN / "interrupted.session.jsonl", folder / "20260101T000000-a.session.jsonl")
    shutil.copy(WHOLE, folder / "20260102T000000-b.session.jsonl")
    assert main(["report"]) == 0
    assert capsys.readouterr().out.strip() == "report.html"
    assert "20260102T000000-b" in (in_a_folder / "report.html").read_text()


def test_several_sessions_are_compared(in_a_folder):
    assert main(["report", str(WHOLE), str(WHOLE), "-o", "two.html"]) == 0
    assert "Session B against session A" in (in_a_folder / "two.html").read_text()


def test_rules_that_are_not_kept_are_said(in_a_folder, capsys):
    assert main(["report", str(GOLDEN / "interrupted.session.jsonl")]) == 0
    assert "rule 5 of 12 is not kept" in capsys.readouterr().err


def test_a_file_that_is_no_session_is_one_sentence(in_a_folder, capsys):
    (in_a_folder / "x.json").write_text("{}")
    assert main(["report", "x.json"]) == 66
    assert capsys.readouterr().err.count("\n") == 1


def test_a_page_that_cannot_be_written_is_one_sentence(in_a_folder, capsys):
    (in_a_folder / "file").write_text("")
    assert main(["report", str(WHOLE), "-o", "file/page.html"]) == 73
    assert "cannot be written" in capsys.readouterr().err


def test_more_sessions_than_letters_are_refused(capsys):
    assert main(["report", *[str(WHOLE)] * 27]) == 64
    assert "at most 26" in capsys.readouterr().err
