# SPDX-License-Identifier: Apache-2.0
"""Adding a probe is adding its file: a copy of null.c under another name is built, listed, measured and tested."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.__main__ import main
from tests import described, processes
from tests.integration.laboratory import a_laboratory

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A laboratory whose probes were built by CMakeLists.txt as it stands, from a tree with one file more."""
    folder = tmp_path_factory.mktemp("tree")
    tree = folder / "tree"
    for part in ("CMakeLists.txt", "src/steelyard/measure/launch.c", "probes/support", "probes/null/null.c"):
        source, target = ROOT / part, tree / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    (tree / "probes/novelty").mkdir()
    shutil.copy(ROOT / "probes/null/null.c", tree / "probes/novelty/copied.c")
    cmake, build = processes.tool("cmake"), folder / "build"
    configure = [cmake, "-S", tree, "-B", build, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={processes.tool('ninja')}"]
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run([cmake, "--build", build, "--target", "probe_novelty_copied"], check=True, capture_output=True)
    with a_laboratory(folder) as laboratory:
        shutil.copytree(build / "probes", folder / "probes")
        yield laboratory


def test_it_is_listed(added):
    listed = json.loads(added.do("list", "novelty", "--json").stdout)
    assert [probe["probe"] for probe in listed["probes"]] == ["novelty/copied"]


def test_it_is_measured(added):
    result = added.run("novelty")
    assert result.returncode == 0, result.stderr
    assert "copied" in result.stdout
    added.assert_nothing_is_left()


def test_it_is_in_the_table_of_the_documentation(added, monkeypatch):
    pytest.importorskip("docutils")
    monkeypatch.setenv("STEELYARD_PROBES", str(added.folder / "probes"))
    assert main(["docs", str(added.folder / "docs")]) == 0
    assert "`novelty/copied`: " in (added.folder / "docs" / "probes.md").read_text()


def test_the_protocol_tests_find_it_and_it_passes_them(added, pytestconfig, tmp_path):
    # Beside what all other probes have said of themselves, where that is kept.
    kept = described.shared(pytestconfig)
    base = (kept.parent if kept else tmp_path) / "inner"
    tested = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            f"--basetemp={base}",
            "tests/protocol/test_every_probe.py",
            "-k",
            "novelty",
        ],
        env=added.environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
    assert " passed" in tested.stdout
