# SPDX-License-Identifier: Apache-2.0
"""`steelyard study` from a name to what is printed."""

import json

import pytest

from steelyard.__main__ import main
from steelyard.errors import SessionFileError, StudyError, UsageError
from steelyard.keep import session as sessions
from tests.integration.laboratory import QUICK
from tests.unit.judge.sessions import steady, weighed

MINE = {
    "study.toml": 'title = "Mine"\nyear = 2026\nurl = "https://example.org"\nmachine = "none"\n',
    "claims.toml": """
[[claim]]
id = "a-call-is-cheap"
statement = "A system call costs more than a function call."
said = "more"
scope = "one CPU"
[claim.test]
rule = "order"
rising = [{ case = "call/direct@same" }, { case = "call/syscall@same" }]
[[claim]]
id = "cobol-is-slow"
statement = "A call in COBOL costs more than a system call."
said = "more"
scope = "one CPU"
[claim.test]
rule = "order"
rising = [{ case = "call/syscall@same" }, { case = "call/cobol@same" }]
""",
}


@pytest.fixture
def mine(tmp_path):
    """A study of a user's own."""
    folder = tmp_path / "studies" / "mine"
    folder.mkdir(parents=True)
    for name, text in MINE.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def kept(tmp_path):
    """A session of two cases of the study of system calls."""
    session = weighed({"call/syscall@same": steady(150e-9), "call/direct@same": steady(1.4e-9)})
    path = tmp_path / "kept.session.jsonl"
    with sessions.SessionWriter.create(path, session.header) as writer:
        for line in (session.plan, *session.runs):
            writer.append(line)
    return path


def test_every_study_is_listed_with_what_it_takes(capsys):
    assert main(["study", "--json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed.keys() >= {"linux-ipc", "context-switch", "async-simple", "wheatserver", "linux-scheduler-1999"}
    ipc = listed["linux-ipc"]
    assert ipc["blocks"] >= 6
    assert ipc["seconds"] > 0
    assert any(name.startswith("message/bandwidth_pipe[size=65536") for name in ipc["cases"])
    assert "c" in ipc["languages"]


def test_a_study_is_held_against_a_session_that_is_there(kept, capsys):
    assert main(["study", "context-switch", "--session", str(kept), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    verdicts = {one["id"]: one["verdict"] for one in found["statements"]}
    assert verdicts["system-call-negligible"] == "fails"
    assert verdicts["system-call-order-of-magnitude"] == "holds"
    assert verdicts["mutex-flat"] == "not measured"


def test_the_end_of_what_is_printed_is_the_summary(kept, capsys):
    assert main(["study", "context-switch", "--session", str(kept)]) == 0
    whole = capsys.readouterr().out
    assert main(["study", "context-switch", "--session", str(kept), "--short"]) == 0
    assert whole.endswith(capsys.readouterr().out)


def test_of_several_studies_the_end_is_a_line_each(kept, capsys):
    assert main(["study", "context-switch", "linux-ipc", "--session", str(kept), "--short"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["study", "context-switch", "linux-ipc"]
    assert len(lines) <= 6


def test_a_study_becomes_a_page(kept, tmp_path, capsys):
    page = tmp_path / "study.html"
    assert main(["study", "context-switch", "--session", str(kept), "--report", str(page)]) == 0
    assert "<h2>Its statements</h2>" in page.read_text()
    assert str(page) in capsys.readouterr().out.replace("\n", "")


def test_a_study_is_measured_and_what_no_probe_can_do_has_a_reason(laboratory, mine):
    done = laboratory.do("study", "mine", "--studies", mine.parent, *QUICK, "-o", laboratory.session_path, "--json")
    assert done.returncode == 0, done.stderr
    assert "2 cases in 2 blocks" in done.stderr
    [found] = json.loads(done.stdout)
    assert {one["id"]: one["verdict"] for one in found["statements"]} == {
        "a-call-is-cheap": "undecided",
        "cobol-is-slow": "not comparable",
    }
    measured = {case.probe for case in sessions.read(laboratory.session_path).header.selection}
    assert measured == {"call/direct", "call/syscall"}
    assert "no such probe" in found["absent"][0]["reason"]


def test_a_session_that_was_interrupted_goes_on(laboratory, mine):
    whole = ("study", "mine", "--studies", mine.parent)
    assert laboratory.do(*whole, *QUICK, "-o", laboratory.session_path).returncode == 0
    lines = laboratory.session_path.read_text().splitlines(keepends=True)
    laboratory.session_path.write_text("".join(lines[:-4]))
    done = laboratory.do(*whole, "--resume", laboratory.session_path, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["blocks"] == 2
    assert sessions.read(laboratory.session_path).end is not None


def test_a_budget_bounds_it_and_the_verdicts_need_no_more_blocks_than_planned(laboratory, mine):
    short = ("--target", "200us", "--values", "2", "--budget", "10m", "-o", laboratory.session_path)
    assert laboratory.do("study", "mine", "--studies", mine.parent, *short).returncode == 0
    end = sessions.read(laboratory.session_path).end
    assert end.reason == "decided"
    assert 6 <= end.blocks <= 21


WRONG = {
    "no such study": (["nobody"], StudyError),
    "a study and all": (["linux-ipc", "--all"], UsageError),
    "a session without a study": (["--session", "x"], UsageError),
    "measuring and a session": (["linux-ipc", "--session", "x", "--blocks", "6"], UsageError),
    "measuring and going on": (["linux-ipc", "--resume", "x", "--blocks", "6"], UsageError),
    "no such session": (["linux-ipc", "--session", "nowhere.session.jsonl"], SessionFileError),
}


@pytest.mark.parametrize(("arguments", "error"), WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_said(arguments, error, capsys):
    assert main(["study", *arguments]) == error.exit_code
    assert capsys.readouterr().out == ""
