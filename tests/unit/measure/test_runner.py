# SPDX-License-Identifier: Apache-2.0
"""The runner with programs of a few lines of shell; what rogues do to a whole session is in tests/integration."""

import json
import os
import sys
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


def test_a_run_whose_launcher_is_killed_is_ended_and_swept_at_once(tmp_path):
    def killed(script):
        program, scratch = tmp_path / "probe", tmp_path / "scratch"
        scratch.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        request = Request(
            case=a_case(), program=program, descriptor=a_descriptor(), values=1, operations=7, deadline_s=60
        )
        return ProcessRunner(catalog.native_folder() / "launch", CPUS, scratch).run(request), scratch

    outcome, scratch = killed("setsid sleep 600 & kill -9 $PPID; sleep 600")
    assert outcome.status == "failed"
    assert outcome.error == "the launcher did not report: it was killed"
    assert any("processes outlived the probe and were killed" in one for one in outcome.leftovers)
    assert list(scratch.iterdir()) == []


def test_a_probe_that_moves_itself_to_other_cpus_fails(run):
    if len(CPUS) < 2:
        processes.missing("a second CPU")
    outcome = run(f"taskset -p -c {CPUS[0]} $$ >/dev/null\n{PRINT}")
    assert outcome.error == "it moved itself to other CPUs than those that it was given"


def test_a_probe_that_chooses_among_its_own_cpus_does_not_fail(run):
    anywhere = PRINT.replace('"same"', '"free"')
    assert run(f"taskset -p -c {CPUS[0]} $$ >/dev/null\n{anywhere}", placement="free").status == "ok"


def test_a_probe_under_a_real_time_policy_of_its_own_fails(run):
    outcome = run(f"chrt --fifo -p 1 $$ || {{ echo no right to it >&2; exit 77; }}\n{PRINT}")
    if outcome.status == "skipped":
        pytest.skip(outcome.error)
    assert outcome.error.startswith("it gave itself a real-time policy")


def test_more_values_than_were_asked_for_are_a_failure(run):
    twice = PRINT.replace(json.dumps(VALUE), f"{json.dumps(VALUE)}' '{json.dumps(VALUE)}").replace(
        "echo", "printf '%s\\n'"
    )
    outcome = run(twice.replace('"values":1', '"values":2'))
    assert outcome.error == "it gave 2 values where 1 were asked for"


def test_a_value_that_took_no_time_is_a_failure(run):
    assert run(PRINT.replace('"wall_ns": 100', '"wall_ns": 0')).error.startswith("a value of it took no time at all")


def test_a_probe_that_waits_for_a_killed_process_is_ended_before_its_deadline(run):
    waiting = "import os, signal, time\nif os.fork() == 0: os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(600)"
    outcome = run(f"exec {sys.executable} -c '{waiting}'", deadline_s=250)
    assert outcome.error == "one of its processes was killed by signal 9 and it went on waiting"


def test_a_program_that_changes_between_two_runs_fails(tmp_path):
    program, scratch = tmp_path / "probe", tmp_path / "scratch"
    scratch.mkdir()
    request = Request(case=a_case(), program=program, descriptor=a_descriptor(), values=1, operations=7, deadline_s=60)
    started = ProcessRunner(catalog.native_folder() / "launch", CPUS, scratch)
    for script in (PRINT, f"{PRINT}# more"):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        outcome = started.run(request)
    assert outcome.error == f"{program} changed while the session ran: begin a new session"
    program.unlink()
    assert started.run(request).error.startswith(f"{program} is gone")


def a_scratch_folder(path, mark, mode=0o700):
    """What a lab left, with a folder of one run in it."""
    (path / "abcdef012345").mkdir(parents=True)
    path.chmod(mode)
    (path / "lab").write_text(mark)


def test_scratch_folders_of_dead_labs_are_removed_and_those_of_living_ones_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = f"steelyard-{os.getuid()}-"
    parent = f"{os.getppid()} {runner._started(os.getppid())}"
    a_scratch_folder(tmp_path / f"{mine}dead", "999999999 1")
    a_scratch_folder(tmp_path / f"{mine}reused", f"{os.getppid()} 1")
    a_scratch_folder(tmp_path / f"{mine}living", parent)
    a_scratch_folder(tmp_path / f"{mine}open", "999999999 1", mode=0o777)
    a_scratch_folder(tmp_path / "steelyard-notes", "999999999 1")
    (tmp_path / f"{mine}newborn").mkdir(mode=0o700)
    folder = scratch_folder()
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{mine}living",
        f"{mine}open",
        f"{mine}newborn",
        "steelyard-notes",
        folder.name,
    }
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_scratch_folder_is_never_one_that_lies_there_already(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    a_scratch_folder(elsewhere, "999999999 1")
    (tmp_path / f"steelyard-{os.getuid()}-{os.getpid()}").symlink_to(elsewhere)
    folder = scratch_folder()
    assert folder.resolve().parent == tmp_path.resolve()
    assert folder.resolve() != elsewhere
    assert (elsewhere / "lab").exists(), "a link is not followed when dead labs are swept"


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
