# SPDX-License-Identifier: Apache-2.0
"""What the processor counted, in every language: by the events of software, which every kernel has, the same way is
gone as for the counters of hardware, which many machines lack."""

import functools
import os
import re
import subprocess
from pathlib import Path

import pytest

from steelyard.measure import catalog, protocol
from steelyard.records import Case, Transcript
from tests import processes

PROGRAMS = catalog.find_programs(catalog.probe_folders())
SOFTWARE = ["task_clock_ns", "page_faults", "context_switches"]
HARDWARE = ["cycles", "instructions", "branch_misses", "cache_misses"]
#: One probe of each support that counts, with what it is run by.
LANGUAGES = {
    "C": "create/fork",
    "C++": "switch/fiber",
    "Go": "create/goroutine",
    "Rust": "create/rust_thread",
    "Java": "create/java_thread",
    "Python": "create/python_thread",
}
NOBODY = 65534

each_language = pytest.mark.parametrize("language", LANGUAGES)


def ran(name, counters, *arguments, under=(), folder, **more):
    """A short run of a probe, and how it was when it was done; skipped where it cannot run."""
    path = PROGRAMS[name]
    if path.suffix == ".skip":
        processes.missing(path.read_text().strip())
    command = [*under, *catalog.command(path), *arguments, "--values", "4", "--json"]
    environment = {**os.environ, "STEELYARD_COUNTERS": counters, "TMPDIR": str(folder)}
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, check=False, timeout=processes.PATIENCE_S, **more
    )
    if done.returncode == protocol.SKIPPED_EXIT_CODE:
        pytest.skip(done.stderr.decode().strip())
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def transcript(name: str, output: bytes, placement: str = "same", **parameters) -> Transcript:
    descriptor = catalog.describe(PROGRAMS[name], name)
    defaults = {parameter.name: parameter.sweep[0] for parameter in descriptor.parameters}
    case = Case(probe=name, placement=placement, parameters={**defaults, **parameters})
    return protocol.parse_transcript(output, case, descriptor)


@functools.cache
def permitted() -> bool:
    """Whether this user may count the kernel's share as well."""
    return os.geteuid() == 0 or int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 2


@each_language
def test_a_few_values_of_a_run_are_counted(language, tmp_path):
    name = LANGUAGES[language]
    found = transcript(name, ran(name, "software", "--operations", "40", folder=tmp_path))
    counted = [value.counters for value in found.values if value.counters]
    if not counted:
        assert "Java 22" in found.meta.counters_absent or "not permitted" in found.meta.counters_absent
        pytest.skip(found.meta.counters_absent)
    assert [bool(value.counters) for value in found.values] == [True, True, True, False]
    assert found.meta.counters == f"software, {'user and kernel' if permitted() else 'user only'}"
    assert found.meta.counters_absent == ""
    for counters in counted:
        assert counters.operations >= 40
        assert sorted(counters.events) == sorted(SOFTWARE)
        for event in counters.events.values():
            assert 0 < event.running_ns <= event.enabled_ns + 1000
        assert counters.events["task_clock_ns"].count > 0


@each_language
def test_what_is_turned_off_is_absent_with_the_reason(language, tmp_path):
    name = LANGUAGES[language]
    found = transcript(name, ran(name, "off", "--operations", "10", folder=tmp_path))
    assert not any(value.counters for value in found.values)
    assert (found.meta.counters, found.meta.counters_absent) == ("", "turned off by STEELYARD_COUNTERS")


@each_language
def test_hardware_is_counted_or_it_is_said_why_not(language, tmp_path):
    name = LANGUAGES[language]
    found = transcript(name, ran(name, "hardware", "--operations", "10", folder=tmp_path))
    counted = [value.counters for value in found.values if value.counters]
    assert bool(counted) == found.meta.counters.startswith("hardware, ")
    if counted:
        assert set(counted[0].events) <= set(HARDWARE)
    else:
        assert re.search("no such counters|not permitted|Java 22", found.meta.counters_absent)


def test_javascript_says_that_it_cannot(tmp_path):
    found = transcript("switch/promise", ran("switch/promise", "software", "--operations", "10", folder=tmp_path))
    assert "Node" in found.meta.counters_absent


def in_the_kernel_too(found: Transcript) -> None:
    counted = found.meta.counters or found.meta.counters_absent
    if counted != "software, user and kernel":
        pytest.skip(f"switches are the kernel's, and here is counted: {counted}")


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_contexts_that_were_there_before_are_counted(kind, tmp_path):
    """Of a round trip between two contexts each is switched away from once: the caller alone would count one."""
    found = transcript(
        "switch/pipe", ran("switch/pipe", "software", f"kind={kind}", "--operations", "200", folder=tmp_path), kind=kind
    )
    in_the_kernel_too(found)
    for value in found.values[:3]:
        assert value.counters.events["context_switches"].count > 1.5 * value.counters.operations


def test_children_of_a_batch_are_counted(tmp_path):
    """The kernel's account of a batch, own and children's, is the sum that the counters must come to."""
    found = transcript("create/fork", ran("create/fork", "software", "--operations", "50", folder=tmp_path))
    for value in found.values[:3]:
        faults = value.counters.events["page_faults"].count / value.counters.operations
        accounted = value.minor_faults / value.operations
        assert 5 < faults < 1.1 * accounted
        if permitted():  # else those that the kernel met while it copied are not counted, and accounted for
            assert faults > 0.9 * accounted


def test_only_the_timed_part_is_counted(tmp_path):
    """Around each batch the two contexts exchange reports: a single round trip is all that may be counted."""
    found = transcript("switch/pipe", ran("switch/pipe", "software", "--operations", "1", folder=tmp_path))
    in_the_kernel_too(found)
    assert min(value.counters.events["context_switches"].count for value in found.values[:3]) <= 3


def test_too_many_contexts_are_not_counted_and_it_is_said(tmp_path):
    arguments = ("contexts=200", "kind=thread", "--operations", "1000")
    output = ran("switch/yield", "software", *arguments, folder=tmp_path)
    found = transcript("switch/yield", output, contexts=200, kind="thread")
    assert "more than 128 contexts" in found.meta.counters_absent


@pytest.fixture(scope="module")
def no_perf(tmp_path_factory):
    """A program that runs another one where perf_event_open() is forbidden."""
    source = Path(__file__).parent / "no_perf.c"
    program = processes.compiled(source, tmp_path_factory.mktemp("no_perf") / "no_perf")
    if subprocess.run([program, "/bin/true"], check=False).returncode != 0:
        pytest.skip("no filter of system calls can be installed here")
    return program


@each_language
def test_where_counting_is_forbidden_it_is_said_what_would_permit_it(language, no_perf, tmp_path):
    name = LANGUAGES[language]
    found = transcript(name, ran(name, "software", "--operations", "10", under=[no_perf], folder=tmp_path))
    assert not any(value.counters for value in found.values)
    assert re.search("seccomp|Java 22", found.meta.counters_absent)


def test_an_ordinary_user_counts_its_own_share_and_it_is_said(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("already an ordinary user, whose share the other tests count")
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 2:
        pytest.skip("kernel.perf_event_paranoid lets every user count the kernel here")
    tmp_path.chmod(0o755)
    try:
        output = ran("switch/pipe", "software", "--operations", "10", folder="/", user=NOBODY, group=NOBODY)
    except PermissionError:
        pytest.skip("another user may not run the probes where they lie")
    assert transcript("switch/pipe", output).meta.counters == "software, user only"
