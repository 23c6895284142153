# SPDX-License-Identifier: Apache-2.0
"""A short session where what a program takes for granted is missing: it is measured, or said in a sentence."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from steelyard.measure import catalog
from tests import processes
from tests.integration.laboratory import a_laboratory, words

CASES = ("call/syscall", "switch/yield[contexts=2,kind=process]@same", "message/latency_pipe[size=1,kind=process]@same")
#: As quick as a session can be, with a deadline for those that others keep from the CPU.
BRIEFLY = ("--quick", "--values", "2", "--blocks", "2", "--seed", "1")
#: A user without any right.
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "sh", "-c", 'exec "$@"', "sh")


#: The command line for an interpreter that does not know where the probes are installed.
TOLD = f"""import sys, steelyard
steelyard.__path__.append({str(catalog.native_folder().parent)!r})
from steelyard.__main__ import main
sys.exit(main())"""


def run(laboratory, *before, cases=CASES, python=sys.executable, target="1ms", **more):
    """A session started by other programs before it."""
    arguments = ["run", *cases, *BRIEFLY, "--target", target, "-o", laboratory.session_path]
    command = [*before, python, "-c", TOLD, *map(str, arguments)]
    return subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        env=laboratory.environment(),
        cwd=laboratory.folder,
        stdin=subprocess.DEVNULL,
        timeout=processes.PATIENCE_S,
        **more,
    )


def works(*command):
    """Whether a program of the system does this here."""
    return shutil.which(command[0]) and subprocess.run(command, capture_output=True, check=False).returncode == 0


def assert_measured(laboratory, done):
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    session = laboratory.session()
    assert session.end is not None
    assert {run.case for run in session.runs if run.status == "ok" and run.role == "block"} >= {
        case.name for case in session.header.selection
    }


@pytest.fixture
def open_laboratory():
    """A laboratory in which everybody may write; a folder of pytest's is closed to others again by its next run."""
    with tempfile.TemporaryDirectory() as folder:
        for path in (Path(folder), Path(folder) / "tmp"):
            path.mkdir(exist_ok=True)
            path.chmod(0o777)
        with a_laboratory(Path(folder)) as laboratory:
            yield laboratory


@pytest.fixture
def python_of_nobody(open_laboratory, monkeypatch):
    """An interpreter that a user without any right can start, and that finds this package."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(open_laboratory.folder))
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{version}"):
        if works(*NOBODY, python, "-m", "steelyard", "--version"):
            return python
    pytest.skip("only root can start a program as another user, who has to be able to read this checkout")


def test_an_ordinary_user_who_sees_no_processes_of_others(open_laboratory, python_of_nobody):
    if not works("unshare", "-m", "mount", "-t", "proc", "-o", "hidepid=2", "proc", "/proc"):
        pytest.skip("only root can mount /proc without the processes of others")
    hidden = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
    done = run(open_laboratory, "unshare", "-m", "sh", "-c", hidden, "sh", *NOBODY, python=python_of_nobody)
    assert_measured(open_laboratory, done)


def test_a_user_who_may_have_hardly_any_process(open_laboratory, python_of_nobody):
    done = run(open_laboratory, *NOBODY, "prlimit", "--nproc=3", python=python_of_nobody)
    assert done.returncode not in (0, 1)
    assert "Traceback" not in done.stderr, done.stderr
    assert "ulimit -u" in words(done.stderr) or "temporarily unavailable" in words(done.stderr), done.stderr


@pytest.fixture
def quota():
    """A cgroup that may have two fifths of a CPU, in portions that a run takes many of, whoever else uses it."""
    for root, files in (
        (Path("/sys/fs/cgroup"), {"cpu.max": "4000 10000"}),
        (Path("/sys/fs/cgroup/cpu"), {"cpu.cfs_period_us": "10000", "cpu.cfs_quota_us": "4000"}),
    ):
        made = root / "steelyard-test"
        if not (root / "cgroup.procs").exists():
            continue
        try:
            made.mkdir()
            for name, content in files.items():
                (made / name).write_text(content)
        except OSError:
            if made.exists():
                made.rmdir()
            continue
        yield made
        processes.until(lambda where=made: not (where / "cgroup.procs").read_text(), "the cgroup is empty")
        made.rmdir()
        return
    pytest.skip("no cgroup with a quota can be made here")


def test_a_cpu_quota_is_noticed_before_and_in_the_runs_that_it_stops(laboratory, quota):
    inside = f'echo 0 > {quota}/cgroup.procs && exec "$@"'
    done = run(laboratory, "sh", "-c", inside, "sh", cases=("call/syscall",), target="60ms")
    assert done.returncode == 0, done.stderr
    session = laboratory.session()
    assert any("cgroup limits CPU time" in found.what for audit in session.audits for found in audit.disturbances)
    assert any("the CPU quota of" in why and "stopped it" in why for run in session.runs for why in run.disturbed)


def test_a_container_s_system_call_filter_skips_what_it_forbids(laboratory, tmp_path):
    filtered = processes.compiled(Path(__file__).with_name("seccomp.c"), tmp_path / "seccomp")
    if not works(filtered, shutil.which("true")):
        pytest.skip("no filter of system calls can be set here")
    forbidden = "message/latency_io_uring[size=1,kind=process]@same"
    done = run(laboratory, filtered, cases=(*CASES, forbidden))
    assert done.returncode == 0, done.stderr
    session = laboratory.session()
    assert forbidden in {skip.subject for skip in session.skips}
    assert {run.case for run in session.runs if run.status == "failed"} == set()


def test_a_clock_that_somebody_set_elsewhere(laboratory):
    if not works("unshare", "-T", "--boottime", "100000", "--monotonic", "100000", "true"):
        pytest.skip("only root can begin a time of its own")
    assert_measured(laboratory, run(laboratory, "unshare", "-T", "--boottime", "100000", "--monotonic", "100000"))


def test_a_date_of_another_year(laboratory):
    faketime = processes.tool("faketime")
    assert_measured(laboratory, run(laboratory, faketime, "2001-01-01 00:00:00"))
    assert laboratory.session().header.started.startswith("2001-01-01")


def test_without_a_network_a_web_server_says_so_at_once(laboratory):
    if not works("unshare", "-n", "true"):
        pytest.skip("only root can be without a network")
    done = run(laboratory, "unshare", "-n", cases=("request/wsgiref", "null"))
    skips = {skip.subject.partition("[")[0]: skip.reason for skip in laboratory.session().skips}
    assert "loopback" in skips["request/wsgiref"], done.stderr


def test_a_disk_without_room_for_a_single_line_leaves_no_session(laboratory):
    done = run(laboratory, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)))
    assert done.returncode not in (0, 1), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert not laboratory.session_path.exists()
    assert "--resume" not in done.stderr
    assert "cannot" in words(done.stderr)


def test_limits_that_are_too_small_are_said_before_measuring(laboratory):
    done = run(laboratory, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    assert done.returncode == 0, done.stderr
    found = [item.what for audit in laboratory.session().audits for item in audit.disturbances]
    assert any("64 open files" in what for what in found)


def test_a_nice_session_says_that_it_is_nice(laboratory):
    assert_measured(laboratory, run(laboratory, "nice", "-n", "19", cases=("call/syscall",)))
    found = [item.what for audit in laboratory.session().audits for item in audit.disturbances]
    assert any("nice 19" in what for what in found)
