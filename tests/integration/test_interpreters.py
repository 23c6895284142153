# SPDX-License-Identifier: Apache-2.0
"""`--param python=`: the probes in Python are run by each interpreter that is named, and all else as it is."""

import os
import subprocess
import sys

import pytest

from steelyard.__main__ import main
from steelyard.errors import UsageError
from steelyard.measure import catalog
from tests import processes
from tests.integration.laboratory import words

#: An interpreter that is surely there: what matters is that it is the one that runs, not which version it has.
OWN = sys.executable


def variants(laboratory):
    return {case.name: case.variant for case in laboratory.session().header.selection}


def test_probes_in_python_are_run_by_the_interpreter_and_others_as_they_are(laboratory):
    result = laboratory.run("call/python_loop", "call/direct@same", "--param", f"python={OWN}")
    assert result.returncode == 0, result.stderr
    label = "python" + ".".join(map(str, sys.version_info[:3]))
    assert variants(laboratory) == {f"call/python_loop@same~{label}": label, "call/direct@same": None}
    runs = [run for run in laboratory.session().runs if run.case.startswith("call/python_loop")]
    assert {run.compiler.split()[:2][1] for run in runs} == {".".join(map(str, sys.version_info[:3]))}
    assert label in result.stdout


def test_the_overhead_is_measured_by_the_same_interpreter(laboratory):
    result = laboratory.run("switch/generator", "--param", f"python={OWN}")
    assert result.returncode == 0, result.stderr
    planned = {case.case.name: case.baseline for case in laboratory.session().plan.cases if case.baseline}
    [(case, baseline)] = planned.items()
    assert case.partition("~")[2] == baseline.partition("~")[2] != ""


@pytest.mark.parametrize(
    ("python", "selector", "sentence"),
    [
        ("no-such-python", "generator", "no-such-python is not found"),
        ("/bin/true", "generator", "does not run as a Python interpreter"),
        (OWN, "call/direct", "no selected probe is written in Python"),
        (f"{OWN},{OWN}", "generator", "names two interpreters alike"),
    ],
)
def test_an_interpreter_that_is_of_no_use_is_one_sentence(python, selector, sentence, capsys):
    assert main(["run", selector, "--param", f"python={python}"]) == UsageError.exit_code
    said = capsys.readouterr().err
    assert said.startswith("steelyard: --param python")
    assert sentence in words(said)
    assert "Traceback" not in said


def test_an_interpreter_that_is_too_old_is_refused(tmp_path, capsys):
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\necho /usr/bin/old-python\necho 2.7.18\necho\n")
    old.chmod(0o755)
    assert main(["run", "generator", "--param", f"python={old}"]) == UsageError.exit_code
    assert "is Python 2.7.18 and the probes need 3.8 or later" in words(capsys.readouterr().err)


def test_a_java_older_than_the_classes_says_which_is_needed(tmp_path):
    program = catalog.native_folder() / "probes" / "create" / "java_thread"
    if not program.exists():
        processes.missing("no JDK was found when the probes were built")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.touch(mode=0o755)
    (tmp_path / "release").write_text('IMPLEMENTOR="example"\nJAVA_VERSION="11.0.2"\n')
    environment = {**os.environ, "STEELYARD_JAVA": str(java)}
    done = subprocess.run([program, "--describe"], env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 77
    assert f"{java} is Java 11: install Java " in done.stderr
