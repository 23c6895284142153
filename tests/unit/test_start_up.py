# SPDX-License-Identifier: Apache-2.0
"""What is not imported takes no time: which modules a command leaves alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SESSION = Path(__file__).parents[1] / "golden" / "whole.session.jsonl"
#: Libraries that take a tenth of a second or more each.
HEAVY = {"numpy", "scipy", "duckdb", "altair", "vl_convert", "pandas", "polars", "pyarrow", "narwhals", "fsspec"}
ASK = """
import json, sys
from steelyard.__main__ import main
code = main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
raise SystemExit(code)
"""


def imported(*arguments):
    done = subprocess.run([sys.executable, "-c", ASK, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["fleet", "--help"], ["completion", "--help"]])
def test_what_measures_and_judges_nothing_imports_no_library_for_it(arguments):
    assert imported(*arguments) & HEAVY == set()


def test_a_session_is_shown_without_distributions_charts_sql_and_the_web():
    found = imported("show", str(SESSION))
    assert found & (HEAVY - {"numpy"}) == set()
    assert "http" not in found
