# SPDX-License-Identifier: Apache-2.0
"""The support of probes in Go: what it refuses, and that nothing is downloaded."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "probes" / "support" / "go"
PROBE = """package main

import "steelyard/probe"

func main() {
	probe.Main(probe.Probe{
		Question: "What happens?", Operation: "one", Source: "this test", Statistic: "median",
		Placements: []string{"same"}, Uses: []string{"cpu"},
		Metrics: []probe.Metric{{"one", "s", "lower", "wall", "operations", "time of one"}},
		Parameters: []probe.Parameter{
			probe.Choice{Name: "trouble", Doc: "what goes wrong",
				Choices: []string{TROUBLES}, Sweep: []string{TROUBLES}}},
		Setup: func(run *probe.Run) probe.Batch {
			if run.Is("trouble", "skip") {
				probe.Skip("there is no such thing")
			}
			return func(operations uint64, value *probe.Value) {
				if run.Is("trouble", "endless") {
					select {}
				}
				if run.Is("trouble", "unstarted") {
					value.Count("checked", operations)
					return
				}
				value.Start()
				value.Stop()
				switch {
				case run.Is("trouble", "wrong"):
					value.Count("checked", operations-1)
				case run.Is("trouble", "unproven"):
				default:
					value.Count("checked", operations)
				}
			}
		},
	})
}
"""
TROUBLES = {
    "none": (0, ""),
    "wrong": (1, "were proven to have happened"),
    "unproven": (1, 'lacks the count "checked"'),
    "unstarted": (1, "never called Start"),
    "endless": (1, "not finished within the deadline"),
    "skip": (77, "there is no such thing"),
}
needs_go = pytest.mark.skipif(shutil.which("go") is None and not os.environ.get("CI"), reason="Go is not installed")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A probe in Go that can go wrong, built as the build does it, with every proxy closed."""
    folder = tmp_path_factory.mktemp("go")
    source = folder / "way.go"
    source.write_text(PROBE.replace("TROUBLES", ", ".join(f'"{trouble}"' for trouble in TROUBLES)))
    closed = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    subprocess.run(
        ["go", "build", "-ldflags", "-X steelyard/probe.identity=question/way", "-o", folder / "way", source],
        cwd=SUPPORT,
        env={**os.environ, **closed},
        check=True,
        timeout=300,
    )
    return folder / "way"


@needs_go
@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_probe_that_does_not_do_its_work_ends_with_the_reason(program, trouble):
    code, reason = TROUBLES[trouble]
    arguments = (f"trouble={trouble}", "--operations", "3", "--values", "1", "--deadline", "1s")
    ended = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == code, ended.stderr
    assert reason in ended.stderr
    assert bool(ended.stdout) == (code == 0)


@needs_go
def test_a_placement_on_one_cpu_is_one_of_the_scheduler_as_well(program):
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
