# SPDX-License-Identifier: Apache-2.0
"""The runner with programs of a few lines of shell; what rogues do to a whole session is in tests/integration."""

import json
import os
import tempfile
from pathlib import Path

import pytest

from steelyard.measure import catalog, runner
from steelyard.measure.runner import MockRunner, ProcessRunner, Request, scratch_folder
from tests import processes
from tests.making import a_case, a_descriptor, a_metric

CPUS = tuple(sorted(os.sched_getaffinity(0)))
META = {
    "type": "meta",
    "protocol": 1,
    "probe": "example/steady",
    "parameters": {},
    "placement": "same",
    "operations": 7,
}
VALUE = {"type": "value", "operations": 7, "wall_ns": 100, "counts": {"checked": 7}}
PRINT = f"""
echo '{json.dumps(META)}'
echo '{json.dumps(VALUE)}'
echo '{{"type":"end","values":1}}'
"""


@pytest.fixture
def run(tmp_path):
    """Run a shell script as a probe; returns its outcome."""
    mark = processes.a_mark()
    (tmp_path / "scratch").mkdir()

    def run(script: str, *, launcher: Path | None = None, placement="same", cpus=CPUS, deadline_s=5.0, hold=(), **more):
        program = tmp_path / "probe"
        program.write_text(f"#!/bin/sh\nexport {processes.MARK}={mark}\n{script}\n")
        program.chmod(0o755)
        request = Request(
            case=a_case(placement=placement),
            program=program,
            descriptor=a_descriptor(),
            values=1,
            operations=7,
            deadline_s=deadline_s,
            **more,
        )
        started = ProcessRunner(launcher or catalog.native_folder() / "launch", cpus, tmp_path / "scratch", hold)
        outcome = started.run(request)
        assert list((tmp_path / "scratch").iterdir()) == []
        return outcome

    yield run
    assert processes.marked(mark) == []


def test_a_run_that_goes_well_has_a_transcript(run):
    outcome = run(PRINT)
    assert (outcome.status, outcome.error) == ("ok", None)
    assert outcome.transcript.values[0].wall_ns == 100
    assert outcome.wall_s > 0
    assert outcome.peak_rss_bytes > 0


def test_a_run_is_pinned_to_its_cpus(run):
    outcome = run("grep Cpus_allowed_list /proc/self/status >&2; exit 9")
    assert outcome.error.endswith(f"Cpus_allowed_list:\t{CPUS[-1]}")
    assert outcome.cpus == (CPUS[-1],)


def test_a_run_works_in_a_folder_of_its_own(run):
    outcome = run('[ "$TMPDIR" = "$PWD" ] && touch file && basename "$PWD" >&2; echo "$STEELYARD_RUN_ID" >&2; exit 9')
    name = outcome.error.split()[-1]
    assert len(name) == 12
    assert outcome.error == f"exited with code 9: {name}"


def test_a_probe_is_told_what_to_do_by_its_arguments(run):
    assert run('echo "$*" >&2; exit 9').error.endswith(
        "--placement same --operations 7 --values 1 --deadline 5s --json"
    )


def test_the_environment_is_padded_by_so_many_bytes(run):
    assert run("echo ${#STEELYARD_PADDING} >&2; exit 9", padding=123).error.endswith(": 123")


def test_standard_input_is_empty(run):
    assert run("wc -c >&2; exit 9").error.endswith(": 0")


def test_the_launcher_holds_what_the_lab_holds_and_the_probe_does_not(run, tmp_path):
    path = tmp_path / "held"
    counts = f"$(ls -l /proc/self/fd | grep -c {path}) $(ls -l /proc/$PPID/fd | grep -c {path})"
    with path.open("w") as held:
        assert run(f'echo "{counts}" >&2; exit 9', hold=(held.fileno(),)).error.endswith(": 0 1")


def test_a_deadline_ends_a_run_and_all_that_it_started(run):
    outcome = run("sleep 600 & sleep 600", deadline_s=0.2)
    assert outcome.status == "failed"
    assert outcome.error.startswith("did not finish within ")
    assert "0 s" not in outcome.error


def test_a_program_that_cannot_be_started_is_a_failure_with_its_reason(run):
    outcome = run("", interpreter="/no/such/interpreter")
    assert outcome.error.startswith("exited with code 127: launch: cannot start /no/such/interpreter: No such file")


def test_a_placement_that_the_machine_cannot_do_is_a_skip(run):
    outcome = run(PRINT, placement="cross", cpus=CPUS[:1])
    assert (outcome.status, outcome.error) == ("skipped", "placement cross needs two CPUs and 1 may be used")


def test_a_launcher_that_says_nothing_is_a_failure_and_no_end_of_the_session(run, tmp_path):
    silent = tmp_path / "launch"
    silent.write_text("#!/bin/sh\necho the disk is on fire >&2\nexit 2\n")
    silent.chmod(0o755)
    outcome = run(PRINT, launcher=silent)
    assert (outcome.status, outcome.error) == ("failed", "the launcher did not report: the disk is on fire")


def test_a_probe_that_closes_its_streams_and_goes_on_is_waited_for(run):
    assert run("exec >&- 2>&-; sleep 0.1").error == "printed nothing"


def test_scratch_folders_of_dead_labs_are_removed_and_those_of_living_ones_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = f"steelyard-{os.getuid()}-"
    for name in (f"{mine}999999999", f"{mine}{os.getppid()}", "steelyard-notes", f"{mine}x"):
        (tmp_path / name / "below").mkdir(parents=True)
    folder = scratch_folder()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [f"{mine}{os.getppid()}", "steelyard-notes", f"{mine}x", folder.name]
    )
    assert folder.stat().st_mode & 0o777 == 0o700


# --- the mock --------------------------------------------------------------------------------------------------------


def requested(case=None, **more) -> Request:
    settings = {"descriptor": a_descriptor(), "values": 3, "deadline_s": 1, "target_ns": 1_000_000, **more}
    return Request(case=case or a_case(), program=Path("/dev/null"), **settings)


def test_the_mock_is_the_same_for_the_same_seed():
    assert MockRunner(seed=5).run(requested()) == MockRunner(seed=5).run(requested())
    assert MockRunner(seed=5).run(requested()) != MockRunner(seed=6).run(requested())


def test_the_mock_takes_what_it_is_told_to_take():
    mock = MockRunner(costs={a_case().name: 250e-9}, noise=0.0)
    transcript = mock.run(requested()).transcript
    assert transcript.meta.operations == 4000
    assert [value.figure(a_metric()) for value in transcript.values] == pytest.approx([250e-9] * 3)


def test_the_mock_reports_what_the_metrics_need():
    descriptor = a_descriptor(metrics=(a_metric("switch", per="switches"),))
    [value, *_] = MockRunner().run(requested(descriptor=descriptor)).transcript.values
    assert value.figure(descriptor.metrics[0]) is not None


def test_a_flood_is_more_than_any_honest_run_prints():
    assert runner.OUTPUT_LIMIT > 99 * 2000
