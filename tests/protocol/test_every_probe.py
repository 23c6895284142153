# SPDX-License-Identifier: Apache-2.0
"""Every probe on disk is held to protocol 1. The probes are found by looking, as the catalog finds them; a program here
is started as by hand, without the launcher, so that it has to clean up after itself."""

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import time
from pathlib import Path

import pytest

from steelyard.measure import catalog, protocol
from steelyard.records import Case, Descriptor
from tests import processes
from tests.described import PROBES, PROGRAMS, answers, descriptors
from tests.long import LONG

#: 23 operations are few, and a prime, so that rounding to a batch shows.
FEW = ("--operations", "23", "--values", "2", "--json")

every_probe = pytest.mark.parametrize("name", PROBES)


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        found = [(name, case) for name, says in descriptors(metafunc.config).items() for case in cases_of(says)]
        metafunc.parametrize(("name", "case"), found, ids=[case.name for _, case in found])


@pytest.fixture
def descriptor(name, pytestconfig):
    return descriptors(pytestconfig)[name]


def started(name: str, *arguments: str, folder, run_id: str = "", **more) -> subprocess.Popen[bytes]:
    """Start a probe in a session of its own; nobody inherits its orphans but init."""
    environment = {**os.environ, "STEELYARD_RUN_ID": run_id or secrets.token_hex(6), "TMPDIR": str(folder)}
    return subprocess.Popen(
        [*catalog.command(PROBES[name]), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=folder,
        start_new_session=True,
        **more,
    )


def done(name: str, *arguments: str, folder) -> subprocess.CompletedProcess[bytes]:
    process = started(name, *arguments, folder=folder)
    with process:
        try:
            out, err = process.communicate(timeout=processes.PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def cases_of(descriptor: Descriptor) -> list[Case]:
    """The default, then each parameter alone at the last of its sweep, then each placement.

    The sweep is the brief one; the other one has the largest sizes and is for long tests.
    """
    default = {parameter.name: parameter.sweep[0] for parameter in descriptor.parameters}
    settings = [default]
    for parameter in descriptor.parameters:
        sweep = parameter.sweep if LONG else parameter.brief or parameter.sweep
        settings.append({**default, parameter.name: sweep[-1]})
    first, *others = descriptor.placements
    cases = [Case(probe=descriptor.probe, parameters=setting, placement=first) for setting in settings]
    cases += [Case(probe=descriptor.probe, parameters=default, placement=placement) for placement in others]
    return list(dict.fromkeys(cases))


def skip_with_its_reason(result: subprocess.CompletedProcess[bytes]) -> None:
    reason = result.stderr.decode().strip()
    assert reason, "a probe that cannot run here says why"
    assert result.stdout == b""
    pytest.skip(reason.splitlines()[-1])


def test_there_are_probes():
    assert PROBES


@every_probe
def test_it_describes_itself(name, pytestconfig):
    code, printed, words = answers(pytestconfig)[name]
    assert (code, words) == (0, "")
    descriptor = protocol.parse_descriptor(printed.encode(), name)
    assert descriptor.baseline != name
    if descriptor.baseline is not None:
        assert descriptor.baseline in PROGRAMS, "the baseline is a probe as well"
    assert descriptor.question.endswith("?")
    for metric in descriptor.metrics:
        assert metric.unit in ("s", "B", "B/s", "1/s", "1"), "figures are in base units"
        assert metric.doc
    for parameter in descriptor.parameters:
        assert parameter.doc
        assert list(dict.fromkeys(parameter.sweep)) == list(parameter.sweep), "no value is swept twice"


@every_probe
def test_a_person_can_read_what_it_is_called(descriptor, pytestconfig):
    title, place = descriptor.title, (descriptor.probe.partition("/")[0], descriptor.family)
    assert title, "a probe of ours has a title"
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_+,.():' -]*[A-Za-z0-9)]", title), "one line of plain words"
    assert [
        other.probe
        for other in descriptors(pytestconfig).values()
        if (other.probe.partition("/")[0], other.family, other.title) == (*place, title)
    ] == [descriptor.probe], "no other probe of its family has the same title"


@every_probe
def test_its_selftest_passes_or_says_why_it_cannot(name, tmp_path):
    result = done(name, "--selftest", folder=tmp_path)
    if result.returncode == protocol.SKIPPED_EXIT_CODE:
        skip_with_its_reason(result)
    assert result.returncode == 0, result.stderr.decode()


def test_a_short_run_prints_the_lines_of_the_protocol_and_nothing_else(name, case, descriptor, tmp_path):
    parameters = [f"{key}={value}" for key, value in case.parameters.items()]
    result = done(name, *parameters, "--placement", case.placement, *FEW, folder=tmp_path)
    if result.returncode == protocol.SKIPPED_EXIT_CODE:
        skip_with_its_reason(result)
    assert result.returncode == 0, result.stderr.decode()
    transcript = protocol.parse_transcript(result.stdout, case, descriptor)
    assert len(transcript.values) == 2
    assert list(tmp_path.iterdir()) == [], "a run leaves no file"


@every_probe
def test_the_number_of_operations_is_found_for_a_length_of_time(name, descriptor, tmp_path):
    case = cases_of(descriptor)[0]
    arguments = protocol.run_arguments(case, values=1, deadline_s=30, target_ns=100_000)
    result = done(name, *arguments, folder=tmp_path)
    if result.returncode == protocol.SKIPPED_EXIT_CODE:
        skip_with_its_reason(result)
    assert result.returncode == 0, result.stderr.decode()
    transcript = protocol.parse_transcript(result.stdout, case, descriptor)
    assert transcript.meta.operations >= 1


@pytest.fixture
def run_id(tmp_path):
    """The id of a run whose processes and IPC objects are gone afterwards, whatever happens."""
    made = secrets.token_hex(6)
    yield made
    processes.kill_marked(made, "STEELYARD_RUN_ID")
    # Without a launcher nobody swept; one that starts nothing of the kind does so under the same id.
    launch = (catalog.native_folder() / "launch", "--run-id", made, "--scratch", tmp_path / "swept", "--report", "1")
    subprocess.run([*launch, "--", "/bin/true"], stdout=subprocess.DEVNULL, check=True)


def endless(case: Case) -> list[str]:
    """Arguments of a run that takes longer than any test."""
    return protocol.run_arguments(case, values=100_000, deadline_s=600, target_ns=10_000_000)


def at_work(pid: int) -> bool:
    """Whether a process has used some CPU time or is asleep in its work: past its start."""
    with contextlib.suppress(OSError), Path(f"/proc/{pid}/schedstat").open() as file:
        return int(file.read().split()[0]) > 5_000_000
    return True


def wait_for_work(pid: int) -> None:
    """Wait until a probe is past its start; one that only waits for others is so after a while."""
    end = time.monotonic() + 0.2
    while not at_work(pid) and time.monotonic() < end:
        time.sleep(0.005)


def test_when_it_is_killed_no_process_of_it_lives_on(name, case, tmp_path, run_id):
    with started(name, *endless(case), folder=tmp_path, run_id=run_id) as process:
        wait_for_work(process.pid)
        if process.poll() == protocol.SKIPPED_EXIT_CODE:
            pytest.skip(process.stderr.read().decode().strip())
        assert process.poll() is None, process.stderr.read().decode()
        process.kill()
        process.wait()
        # Its streams may be held open by what outlives it, so they are not read to their end.
    processes.until(lambda: processes.gone(run_id, "STEELYARD_RUN_ID"), "no child of the probe lives on", 20)


@every_probe
def test_when_it_is_killed_the_launcher_sweeps_what_has_the_name_of_the_run(name, descriptor, tmp_path, run_id):
    read_end, write_end = os.pipe()
    scratch = tmp_path / "scratch"
    command = [
        *(catalog.native_folder() / "launch", "--run-id", run_id, "--scratch", scratch, "--report", str(write_end)),
        *("--", *catalog.command(PROBES[name]), *endless(cases_of(descriptor)[0])),
    ]
    environment = {**os.environ, "STEELYARD_RUN_ID": run_id}
    launcher = subprocess.Popen(
        command, env=environment, pass_fds=(write_end,), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    os.close(write_end)
    with launcher, os.fdopen(read_end, "rb") as report:
        children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
        processes.until(lambda: children.read_text().split() or launcher.poll() is not None, "the probe is started", 20)
        for pid in children.read_text().split() if launcher.poll() is None else ():
            wait_for_work(int(pid))
            processes.kill(int(pid))
        _, err = launcher.communicate(timeout=processes.PATIENCE_S)
        said = json.loads(report.read())
    assert launcher.returncode == 0, err.decode()
    if said["exit"] == protocol.SKIPPED_EXIT_CODE:
        pytest.skip(err.decode().strip())
    assert (said["signal"], said["stuck"]) == (signal.SIGKILL, 0)
    assert processes.marked(run_id, "STEELYARD_RUN_ID") == []
    assert processes.ipc_objects(run_id) == []
    assert not scratch.exists()
