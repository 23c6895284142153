# SPDX-License-Identifier: Apache-2.0
"""What the libraries of the extras are not needed for works without them; where one is needed, its extra is named."""

import gzip
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from steelyard import no_libraries
from steelyard.errors import InstallationError
from tests import processes

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SESSION = ROOT / "tests" / "golden" / "whole.session.jsonl"
#: A first session: everything is in it that a screen may be made of.
FIRST = ROOT / "tests" / "golden" / "first.session.jsonl.gz"
#: Modules of the libraries that a plain `pip install steelyard` leaves out.
LEFT_OUT = ("altair", "vl_convert", "duckdb", "scipy", "pandas", "polars", "pyarrow", "narwhals", "fsspec")
#: Runs several commands in one process, in which these modules are not to be found; prints their codes as JSON.
ASK = """
import json, sys
left_out, requirements, commands = map(json.loads, sys.argv[1:])
sys.modules.update(dict.fromkeys(left_out))
from steelyard import no_libraries
from steelyard.__main__ import main
no_libraries._requirements = lambda: requirements
codes = []
for words in commands:
    print("==", *words, file=sys.stderr)
    codes.append(main(words))
print("\\n" + json.dumps(codes))
"""


def requirements():
    """Those of pyproject.toml, as an installed package's metadata has them."""
    extras = PROJECT["optional-dependencies"].items()
    return PROJECT["dependencies"] + [f"{library}; extra == '{extra}'" for extra, all_ in extras for library in all_]


def asked(*commands, there=()):
    """The exit code of each command, and what each said on standard error; ``there``: modules that are there."""
    left_out = [name for name in LEFT_OUT if name not in there]
    words = [sys.executable, "-c", ASK, *map(json.dumps, (left_out, requirements(), commands))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stderr.split("== ")[1:]
    return json.loads(done.stdout.splitlines()[-1]), [one.partition("\n")[2] for one in said]


def test_measuring_judging_and_showing_need_no_extra(tmp_path):
    session, first = str(SESSION), tmp_path / "first.session.jsonl"
    first.write_bytes(gzip.decompress(FIRST.read_bytes()))
    codes, said = asked(
        ["show", str(first)],
        ["claims", str(first), "--short"],
        ["explain", "switch/pipe", session],
        ["history", "example/brittle", session],
        ["compare", session, session],
        ["check", session, session, "--undecided", "pass"],
        ["run", "--help"],
        ["export", session, "--format", "csv", "-o", str(tmp_path / "rows.csv")],
    )
    assert codes == [0] * len(codes), said


def test_simulating_needs_none():
    codes, said = asked(["simulate"])
    if "schedsim was not built" in said[0]:  # without a C++ compiler
        processes.missing(said[0])
    assert codes == [0], said


def test_a_command_whose_library_is_missing_names_its_extra(tmp_path):
    session, page = str(SESSION), str(tmp_path / "page.html")
    commands = {
        "report": ["report", session, "-o", page],
        "sql": ["query", "FROM sessions", session],
        "statistics": ["prove", "--quick"],
    }
    codes, said = asked(*commands.values(), ["export", session, "--format", "parquet", "-o", str(tmp_path / "rows")])
    assert codes == [InstallationError.exit_code] * 4
    for extra, words in zip([*commands, "sql"], said, strict=True):
        [line] = words.splitlines()
        assert line.startswith("steelyard: this needs ")
        assert line.endswith(f": pip install 'steelyard[{extra}]'")


def test_the_extra_for_a_page_is_enough_for_a_page(tmp_path):
    page = tmp_path / "page.html"
    # altair itself asks for narwhals.
    codes, said = asked(["report", str(SESSION), "-o", str(page)], there=("altair", "vl_convert", "narwhals"))
    assert codes == [0], said
    assert page.exists()


def test_nothing_is_measured_or_simulated_for_a_page_that_cannot_be_drawn(tmp_path):
    session, page = str(SESSION), tmp_path / "page.html"
    codes, said = asked(
        ["simulate", "web-site", "--report", str(page)],
        ["study", "--all", "--session", session, "--report", str(page)],
    )
    assert codes == [InstallationError.exit_code] * 2, said
    assert not page.exists()


@pytest.mark.parametrize("library", [*PROJECT["optional-dependencies"]["report"], "duckdb", "scipy"])
def test_the_extra_of_a_library_is_found_by_the_name_of_its_module(monkeypatch, library):
    monkeypatch.setattr(no_libraries, "_requirements", requirements)
    module = {"vl-convert-python": "vl_convert"}.get(library.partition(">")[0], library.partition(">")[0])
    error = ImportError("a command that is imported when it is run says so")
    error.__cause__ = ModuleNotFoundError("not there", name=f"{module}.of.it")
    assert "pip install 'steelyard[" in no_libraries.lacking(error)


@pytest.mark.parametrize("name", ["steelyard_of_a_typo", "alt", "", None])
def test_another_module_that_is_missing_is_a_defect(monkeypatch, name):
    monkeypatch.setattr(no_libraries, "_requirements", requirements)
    assert no_libraries.lacking(ModuleNotFoundError("not there", name=name)) is None
    with pytest.raises(ModuleNotFoundError), no_libraries.named():
        raise ModuleNotFoundError("not there", name=name)


def test_a_notebook_is_told_the_extra_as_well(monkeypatch):
    monkeypatch.setattr(no_libraries, "_requirements", requirements)
    with pytest.raises(InstallationError, match=r"steelyard\[sql\]"), no_libraries.named():
        raise ModuleNotFoundError("not there", name="duckdb")


def test_every_library_of_everyone_is_imported_by_a_command_without_an_extra():
    """What nothing of the core imports belongs into an extra, or nowhere."""
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    for library in PROJECT["dependencies"]:
        name = library.partition(">")[0]
        assert f"import {name}" in sources or f"from {name}" in sources
