# SPDX-License-Identifier: Apache-2.0
"""A study of a user: the example of the how-to works as it stands there, and a mistake is said before any work."""

import json
import re
from pathlib import Path

import pytest

from steelyard.__main__ import main
from steelyard.errors import StudyError
from steelyard.keep import session as sessions
from steelyard.keep import studies

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-study.md"


def written(folder):
    """The study of the how-to, in this folder."""
    for name, text in re.findall(r'```toml title="studies/([^"]*)"\n(.*?)```', HOW_TO.read_text(), re.DOTALL):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "our-rules"


def test_its_claim_is_judged(kept, tmp_path, capsys):
    written(tmp_path / "studies")
    assert main(["claims", "--studies", str(tmp_path / "studies"), "--source", "our-rules", "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert (found["id"], found["verdict"]) == ("system-calls-are-dear", "holds")


def test_it_is_read_without_being_named(kept, tmp_path, capsys, monkeypatch):
    written(studies.own_folder())
    assert main(["claims", "--source", "our-rules"]) == 0
    assert "HOLDS  system-calls-are-dear" in capsys.readouterr().out
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    assert main(["claims", "--source", "our-rules"]) != 0
    monkeypatch.setenv("STEELYARD_STUDIES", str(written(tmp_path / "studies")))
    assert main(["claims", "--source", "our-rules"]) == 0


def test_its_figure_stands_beside_ours(kept, capsys):
    written(studies.own_folder())
    assert main(["show", "--json"]) == 0
    assert "a system call, on the old machine" in capsys.readouterr().out


def test_a_page_has_its_claim(kept, tmp_path):
    page = tmp_path / "report.html"
    assert main(["report", "--studies", str(written(tmp_path / "studies")), "-o", str(page)]) == 0
    assert "A system call costs at least 20 times as much as a function call." in page.read_text()


TINE = '@same", metric = "tine" }\nover'
MISTAKES = {
    "no such metric": ("claims.toml", '@same" }\nover', TINE, ["system-calls-are-dear", "tine"]),
    "no such parameter": ("claims.toml", "call/syscall@", "call/syscall[n=1]@", ["system-calls-are-dear", "'n'"]),
    "no such placement": ("claims.toml", "call/direct@same", "call/direct@cross", ["call/direct", "cross"]),
    "no such key": ("claims.toml", "at_least", "atleast", ["system-calls-are-dear", "atleast"]),
    "no case": ("figures.toml", "call/syscall", "call syscall", ["a system call, on the old machine", "call syscall"]),
    "id of ours": ("claims.toml", "system-calls-are-dear", "system-call-negligible", ["context-switch/claims.toml"]),
}


@pytest.mark.parametrize(("file", "right", "wrong", "named"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_sentence_with_an_exit_code_of_its_own(kept, tmp_path, capsys, file, right, wrong, named):
    study = written(tmp_path / "studies")
    text = (study / file).read_text()
    assert right in text
    (study / file).write_text(text.replace(right, wrong))
    assert main(["claims", "--studies", str(study)]) == StudyError.exit_code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert all(name in printed.err for name in [str(study / file), *named]), printed.err
    assert printed.err.count("\n") == 1


def test_what_is_wrong_is_said_before_anything_is_measured():
    study = written(studies.own_folder())
    (study / "claims.toml").write_text("claim = 3")
    assert main(["run", "null/null", "--quick"]) == StudyError.exit_code
    assert not list(sessions.sessions_folder().glob("*"))
