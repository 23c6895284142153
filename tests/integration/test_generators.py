# SPDX-License-Identifier: Apache-2.0
"""Each generator that is installed loads a server, and only one that can is asked to hold a rate."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.measure import catalog
from tests import processes

SKIPPED = 77
RATE = 200


def ran(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A short run of the server that every interpreter has."""
    program = catalog.find_programs(catalog.probe_folders())["request/wsgiref"]
    command = [sys.executable, program, "connections=3", "--operations", "40", "--values", "2", "--json", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, timeout=processes.PATIENCE_S, check=False
    )


def values_of(result: subprocess.CompletedProcess[str]) -> list[dict]:
    assert result.returncode == 0, result.stderr
    return [line for line in map(json.loads, result.stdout.splitlines()) if line["type"] == "value"]


def needs(generator: str) -> None:
    """oha is in no distribution, so that a machine which is there to test may lack it."""
    if shutil.which(generator) is None:
        (pytest.skip if generator == "oha" else processes.missing)(f"{generator} is not installed")


@pytest.mark.parametrize("generator", ["wrk", "ab", "oha"])
def test_what_it_says_becomes_figures(generator, tmp_path):
    needs(generator)
    for value in values_of(ran(f"generator={generator}", folder=tmp_path)):
        assert value["counts"]["checked"] == value["operations"] > 0
        readings = value["readings"]
        assert 0 < readings["p50"] <= readings["p99"] <= readings["max"]
        assert readings["server_cpu"] > 0
        assert 0 < readings["generator_cpu"] < readings["watched"]


def test_a_rate_is_offered_whatever_comes_back(tmp_path):
    needs("oha")
    for value in values_of(ran("generator=oha", f"rate={RATE}", folder=tmp_path)):
        offered, seconds = value["counts"]["offered"], value["readings"]["load_seconds"]
        assert offered == pytest.approx(RATE * seconds, abs=1)
        assert value["operations"] <= offered + RATE * 0.1, "it sends no more than is offered"


@pytest.mark.parametrize("generator", ["wrk", "ab"])
def test_one_that_cannot_hold_a_rate_says_which_can(generator, tmp_path):
    needs(generator)
    result = ran(f"generator={generator}", f"rate={RATE}", folder=tmp_path)
    assert (result.returncode, result.stdout) == (SKIPPED, "")
    [sentence] = result.stderr.splitlines()
    assert f"{generator} cannot hold a rate" in sentence
    assert ("take generator=oha" if shutil.which("oha") else "cargo install oha") in sentence
