# SPDX-License-Identifier: Apache-2.0
"""What is generated from the parser and the probes: completion, man page, tables."""

import shutil
import subprocess

import pytest

from steelyard.measure import catalog


def test_the_reference_has_every_probe_and_every_command(laboratory):
    done = laboratory.do("docs", "reference")
    assert done.returncode == 0, done.stderr
    probes = (laboratory.folder / "reference" / "probes.md").read_text()
    for name in catalog.load(catalog.probe_folders()).probes:
        assert f"`{name}`" in probes
    commands = (laboratory.folder / "reference" / "commands.md").read_text()
    for name in ("run", "show", "compare", "check", "claims", "prove", "doctor"):
        assert f"steelyard {name}" in commands


def test_the_man_page_is_a_man_page(laboratory):
    laboratory.do("docs", "reference")
    page = laboratory.folder / "reference" / "steelyard.1"
    text = page.read_text()
    assert text.count(".TH") == 1
    assert "EXIT STATUS" in text
    if shutil.which("man"):
        shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, check=True)
        assert "--budget" in shown.stdout
        assert not shown.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_that_shell(laboratory, shell):
    done = laboratory.do("completion", shell)
    assert done.returncode == 0, done.stderr
    assert "steelyard" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)


def test_help_of_every_command_says_what_it_does(laboratory):
    for command in ("run", "show", "list", "doctor", "compare", "check", "claims", "prove", "docs", "completion"):
        done = laboratory.do(command, "--help")
        assert done.returncode == 0
        assert "Usage: steelyard" in done.stdout


def test_prove_in_its_quick_form_gives_rows_for_ours_and_others(laboratory):
    import json

    done = laboratory.do("prove", "--quick", "--seed", "3", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    rules = {row["rule"] for row in rows if row["kind"] == "comparison"}
    assert "steelyard" in rules
    assert len(rules) >= 7
    for row in rows:
        assert {"rule", "noise", "false_positive_rate", "power", "coverage"} <= set(row) or row["kind"] == "family"
