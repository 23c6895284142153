# SPDX-License-Identifier: Apache-2.0
"""What is generated from the parser and the probes: completion, man page, tables."""

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from steelyard.__main__ import main
from steelyard.judge import proving
from steelyard.measure import catalog

MAN_PAGE = Path(__file__).parents[2] / "packaging" / "share" / "man" / "man1" / "steelyard.1"


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The folder with all that `steelyard docs` writes."""
    folder = tmp_path_factory.mktemp("docs") / "reference"
    assert main(["docs", str(folder)]) == 0
    return folder


def test_the_reference_has_every_probe_and_every_command(reference):
    probes = (reference / "probes.md").read_text()
    for name in catalog.load(catalog.probe_folders()).probes:
        assert f"`{name}`" in probes
    commands = (reference / "commands.md").read_text()
    for name in ("run", "show", "compare", "check", "claims", "prove", "doctor"):
        assert f"steelyard {name}" in commands


def test_the_man_page_is_a_man_page(reference):
    page = reference / "steelyard.1"
    text = page.read_text()
    assert text.count(".TH") == 1
    assert "EXIT STATUS" in text
    if shutil.which("man"):
        shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, check=True)
        assert "--budget" in shown.stdout
        assert not shown.stderr


def words_of(page):
    """What a man page says, without the comments and requests that differ between versions of docutils."""
    lines = [line for line in page.read_text().splitlines() if not line.startswith(("'", '.\\"'))]
    return re.sub(r"^\.\w+|\\[a-zA-Z&]|\\f.|[\\\"]", " ", "\n".join(lines), flags=re.MULTILINE).split()


def test_the_man_page_that_is_installed_is_the_one_of_today(reference):
    installed, today = (words_of(page) for page in (MAN_PAGE, reference / "steelyard.1"))
    apart = next((pair for pair in itertools.zip_longest(installed, today) if pair[0] != pair[1]), None)
    assert apart is None, (
        f"{MAN_PAGE} has {apart[0]!r} where the options now have {apart[1]!r}: `make golden` writes it"
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_that_shell(capsys, shell):
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert "steelyard" in printed
    assert shell != "zsh" or "\n_cyclopts_steelyard() {" in printed  # packaging/share/zsh calls it by this name
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=printed, text=True, check=True)


def test_help_of_every_command_says_what_it_does(capsys):
    for command in ("run", "show", "list", "doctor", "compare", "check", "claims", "prove", "docs", "completion"):
        assert main([command, "--help"]) == 0
        assert "Usage: steelyard" in capsys.readouterr().out


def test_prove_in_its_quick_form_gives_rows_for_ours_and_others(monkeypatch, capsys):
    # How often our rules err is found out in tests/honesty: here a few trials are as good.
    few = {"trials": 40, "trials_of_others": 40, "sessions": 3}
    monkeypatch.setattr(proving, "prove_quickly", lambda seed: proving.prove(seed, **few))
    assert main(["prove", "--quick", "--seed", "3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    rules = {row["rule"] for row in rows if row["kind"] == "comparison"}
    assert "steelyard" in rules
    assert len(rules) >= 7
    for row in rows:
        assert {"rule", "noise", "false_positive_rate", "power", "coverage"} <= set(row) or row["kind"] == "family"
