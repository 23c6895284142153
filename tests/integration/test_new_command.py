# SPDX-License-Identifier: Apache-2.0
"""A probe from `steelyard new` works at once, and says what is wrong with a name."""

import os
import subprocess
import sys

import pytest

from tests import processes
from tests.integration.laboratory import QUICK


def test_a_new_python_probe_passes_its_selftest_and_is_measured(laboratory):
    done = laboratory.do("new", "probes/novelty/mine.py")
    assert done.returncode == 0, done.stderr
    program = laboratory.folder / "probes" / "novelty" / "mine.py"
    assert os.access(program, os.X_OK)
    subprocess.run([sys.executable, program, "--selftest"], check=True)
    result = laboratory.run("novelty/mine")
    assert result.returncode == 0, result.stderr
    assert "mine" in result.stdout


def test_a_new_c_probe_is_compiled_as_its_head_says(laboratory):
    done = laboratory.do("new", "probes/novelty/mine.c")
    assert done.returncode == 0, done.stderr
    source = laboratory.folder / "probes" / "novelty" / "mine.c"
    _, _, rest = source.read_text().partition("Build: ")
    command = rest.partition("Known answer")[0].replace("\\\n *", "").rstrip(" *\n")
    subprocess.run(["bash", "-c", command], cwd=source.parent, check=True)
    subprocess.run([source.parent / "mine", "--selftest"], check=True)
    result = laboratory.run("novelty/mine")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("probes/novelty/mine.pas", "should end with one of"),
        ("probes/Novelty/mine.py", '"Novelty"'),
        ("probes/novelty/my-own.py", '"my-own"'),
    ],
)
def test_a_wrong_name_is_wrong_usage(laboratory, path, says):
    done = laboratory.do("new", path)
    assert done.returncode == 64
    assert says in " ".join(done.stderr.split())
    assert not (laboratory.folder / "probes").exists()


def test_what_is_there_is_not_overwritten(laboratory):
    path = laboratory.folder / "probes" / "novelty" / "mine.py"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    done = laboratory.do("new", "probes/novelty/mine.py")
    assert done.returncode == 73
    assert path.read_text() == "mine"
    assert "exists" in " ".join(done.stderr.split())
    assert processes.marked(laboratory.mark) == []


def test_two_folders_are_compared_in_what_both_have(laboratory):
    for folder in ("old", "new"):
        assert laboratory.do("new", f"{folder}/novelty/mine.py").returncode == 0
    assert laboratory.do("new", "new/novelty/another.py").returncode == 0
    done = laboratory.do("check", "--base", "old", "--new", "new", *QUICK, "--undecided", "pass", "--json")
    assert done.returncode == 0, done.stderr
    assert "novelty/mine" in done.stdout
    assert "novelty/another" not in done.stdout


def test_two_folders_with_nothing_in_common_are_refused(laboratory):
    for name in ("old/novelty/one.py", "new/novelty/two.py"):
        assert laboratory.do("new", name).returncode == 0
    done = laboratory.do("check", "--base", "old", "--new", "new")
    assert done.returncode == 64
    assert "no probe in common" in " ".join(done.stderr.split())
