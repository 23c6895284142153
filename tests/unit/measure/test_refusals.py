# SPDX-License-Identifier: Apache-2.0
import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.measure import refusals
from tests import processes
from tests.making import a_machine

NEEDS = [need.what for need in refusals._NEEDED]
ALL_CPUS = tuple(range(os.cpu_count() or 1))
HOST = a_machine(cpus=ALL_CPUS)
CONTAINER = refusals.container


def said(machine=HOST, kind=None, **errors):
    """What is refused, where the tries give these errors and all others succeed."""
    return refusals.refusals(machine, kind, {**dict.fromkeys(NEEDS, 0), **errors})


@pytest.fixture(autouse=True)
def _on_a_machine(monkeypatch):
    """Wherever the tests run, the machine is no container unless one says so."""
    monkeypatch.setattr(refusals, "container", lambda: None)


def test_a_machine_that_permits_all_has_nothing_to_say():
    assert said() == ()


def test_what_is_refused_is_said_with_what_is_lost_and_what_permits_it():
    [found] = said(perf_event_open=errno.EACCES)
    assert found.what == (
        "perf_event_open is refused (Permission denied): cycles, instructions and misses are not counted"
    )
    assert found.advice == "as root: sysctl kernel.perf_event_paranoid=2"
    assert found.severity == "note"


@pytest.mark.parametrize("need", NEEDS)
def test_in_a_container_the_advice_is_how_to_start_it(need):
    container, found = refusals.refusals(HOST, "Docker", {**dict.fromkeys(NEEDS, 0), need: errno.EPERM})
    assert container.what.startswith("this is a container (Docker)")
    assert found.what.startswith(f"{need} is refused (Operation not permitted): ")
    assert found.advice.startswith("start the container with ")


def test_a_cpuset_is_told_from_a_whole_machine(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    [found] = said(a_machine(cpus=(2, 3)))
    assert found.what.startswith("only 2 of 8 CPUs may be used")


def test_huge_pages_that_are_switched_off_are_not_asked_for():
    machine = a_machine(cpus=ALL_CPUS, environment={"transparent huge pages": "never"})
    told = {need: 0 for need in NEEDS if need != "a huge page"}
    [found] = refusals.refusals(machine, None, told)
    assert found.what.startswith("a huge page is refused")


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, None),
        ({".dockerenv": ""}, "Docker"),
        ({"run/.containerenv": 'engine="podman"'}, "Podman"),
        ({".dockerenv": "", "var/run/secrets/kubernetes.io/token": "x"}, "Kubernetes"),
        ({"proc/self/cgroup": "12:cpu:/kubepods/besteffort/pod1/2\n"}, "Kubernetes"),
        ({"proc/self/cgroup": "0::/system.slice/docker-0123.scope\n"}, "Docker"),
        ({"proc/self/cgroup": "0::/user.slice\n"}, None),
        ({"run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
    ],
)
def test_a_container_is_known_by_what_it_leaves(tmp_path, files, kind):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert CONTAINER(tmp_path) == kind


#: What is tried for real, in a process of its own, because a filter stays with a process.
TRY = """
import json, os
from steelyard.measure import refusals
policy = os.sched_getscheduler(0)
print(json.dumps({need.what: need.attempt() for need in refusals._NEEDED}))
assert os.sched_getscheduler(0) == policy
"""


def test_a_filter_of_system_calls_is_noticed_by_trying(tmp_path):
    source = Path(__file__).parents[2] / "hostile" / "seccomp.c"
    filtered = processes.compiled(source, tmp_path / "seccomp")
    if subprocess.run([filtered, shutil.which("true")], check=False).returncode != 0:
        pytest.skip("no filter of system calls can be set here")

    def tried(*before):
        done = subprocess.run([*before, sys.executable, "-c", TRY], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    free, held = tried(), tried(filtered)
    for need in ("perf_event_open", "io_uring", "ptrace"):
        assert held[need] == errno.EPERM
    for need in ("SCHED_FIFO", "a huge page"):
        assert held[need] == free[need]
