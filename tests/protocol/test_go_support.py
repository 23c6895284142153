# SPDX-License-Identifier: Apache-2.0
"""The support of probes in Go: what Go alone has, beside test_conformance.py."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from steelyard.measure import catalog

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "probes" / "support" / "go"
needs_go = pytest.mark.skipif(shutil.which("go") is None and not os.environ.get("CI"), reason="Go is not installed")


@needs_go
def test_a_placement_on_one_cpu_is_one_of_the_scheduler_as_well():
    program = catalog.native_folder() / "conformance" / "go" / "conformance"
    ran = subprocess.run([program, "--operations", "1"], capture_output=True, text=True, check=True)
    meta = json.loads(ran.stdout.splitlines()[0])
    assert (len(meta["cpus"]), meta["compiler"][:2]) == (1, "go")
    assert meta["flags"].endswith("GOMAXPROCS=1")


@needs_go
def test_the_sources_are_formatted_and_vetted():
    sources = [str(path) for path in (ROOT / "probes").glob("*/*.go")] + [str(SUPPORT)]
    done = subprocess.run(["gofmt", "-l", *sources], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    subprocess.run(["go", "vet", "-composites=false", "."], cwd=SUPPORT, check=True, capture_output=True, timeout=300)
