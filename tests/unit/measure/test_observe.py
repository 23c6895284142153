# SPDX-License-Identifier: Apache-2.0
"""Watching the live machine: the files of /proc are read rightly, and known work is seen for what it was."""

import contextlib
import json
import os
import sys
import time

import pytest

from steelyard.errors import UsageError
from steelyard.measure import observe
from steelyard.records import Recording

LOADAVG = b"0.25 22.37 153.07 2/102 15851\n"
STAT = b"cpu  1 2 3\ncpu0 1 2 3\nintr 5 0 0\nctxt 724308471\nbtime 1795236745\nprocesses 12123985\nprocs_running 2\n"
STATUS = b"Name:\tvoluntary_ctxt_switches: 9\nState:\tS\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t4\n"
SCHEDSTAT = """version 17
timestamp 4299115
cpu0 0 0 0 0 0 0 1000000000 2500000000 77
domain0 MC 3 0 0 0
cpu1 0 0 0 0 0 0 1000000000 500000000 77
"""
PRESSURE = "some avg10=0.58 avg60=1.46 avg300=3.53 total=2287123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"

WORK = """
import os, time
for _ in range(300):
    time.sleep(0.0005)
for _ in range(40):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
"""
SPIN = "import time\nend = time.monotonic() + 0.6\nwhile time.monotonic() < end: pass"


def watch(*command, seconds=None, every_s=0.005, trace=None):
    return observe.observe(
        seconds=seconds, every_s=every_s, command=command, trace=trace, machine_key="key", words=sys.stderr
    )


def kernel_counts():
    with open("/proc/stat", "rb") as file:  # noqa: PTH123 - as the observer reads it
        return observe.switches_and_forks(file.read())


def test_the_files_of_the_kernel_are_read():
    assert (observe.running(LOADAVG), observe.tasks(LOADAVG)) == (2, 102)
    assert observe.switches_and_forks(STAT) == (724308471, 12123985)
    assert observe.voluntary_and_involuntary(STATUS) == (17, 4)
    assert observe.run_delay_s(SCHEDSTAT) == 3.0
    assert observe.pressure_s(PRESSURE) == 2.287123


def test_the_counts_lie_within_those_of_the_kernel_over_the_same_time():
    before = kernel_counts()
    seen = watch(seconds=0.5)
    after = kernel_counts()
    assert 0 <= seen.switches <= after[0] - before[0]
    assert 0 <= seen.forks <= after[1] - before[1]
    assert seen.voluntary + seen.involuntary <= after[0] - before[0]
    # What is left out is the observer's own: twice its own switches, and what happened before and after.
    assert seen.own_switches > 0


def test_known_work_is_seen():
    seen = watch(sys.executable, "-c", WORK)
    assert seen.command_status == 0
    assert seen.forks >= 40
    assert seen.voluntary >= 300, "every sleep gives the CPU away"
    assert seen.switches >= 600, "and every wake-up takes it again"


def test_tasks_that_run_are_in_the_queue_and_the_observer_is_not():
    spinners = 3
    code = f"import subprocess, sys\nps=[subprocess.Popen([sys.executable,'-c',{SPIN!r}]) for _ in range({spinners})]\n"
    seen = watch(sys.executable, "-c", code + "[p.wait() for p in ps]")
    mean = sum(n * count for n, count in enumerate(seen.lengths)) / sum(seen.lengths)
    # For most of the time all of them are ready; what else the machine does only adds.
    assert mean > spinners / 3


def test_it_ends_with_the_time_and_waits_for_the_command():
    seen = watch(sys.executable, "-c", "import time; time.sleep(0.5); raise SystemExit(3)", seconds=0.1)
    assert seen.command_status == 3
    assert sum(seen.lengths) >= 1
    assert seen.seconds > 0.1


def by_proc(monkeypatch):
    monkeypatch.setattr(observe, "tracing", lambda: contextlib.nullcontext("no tracepoints in this test"))


def test_a_recording_is_the_observation_in_lines(tmp_path, monkeypatch):
    by_proc(monkeypatch)
    path = tmp_path / "trace.jsonl"
    seen = watch(seconds=0.4, trace=path)
    assert seen.recording == Recording(by="proc", why="no tracepoints in this test")
    head, *intervals = [json.loads(line) for line in path.read_text().splitlines()]
    assert head["schedsim_trace"] == 1
    assert head["cpus"] == len(os.sched_getaffinity(0))
    assert len(intervals) == sum(seen.lengths)
    lengths = [interval[1] for interval in intervals]
    assert [lengths.count(n) for n in range(len(seen.lengths))] == list(seen.lengths)
    assert sum(interval[0] for interval in intervals) <= seen.seconds * 1e9
    assert all(number >= 0 for interval in intervals for number in interval)


def test_a_recording_is_never_overwritten(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text("kept")
    with pytest.raises(UsageError, match="never overwritten"):
        watch(seconds=0.1, trace=path)
    assert path.read_text() == "kept"
    with pytest.raises(UsageError, match="cannot be written"):
        watch(seconds=0.1, trace=tmp_path / "nowhere" / "trace.jsonl")


def test_what_can_not_be_done_is_said():
    with pytest.raises(UsageError, match="cannot be started"):
        watch("/no/such/command")
    with pytest.raises(UsageError, match="--every must be at least 1 ms"):
        watch(seconds=0.1, every_s=1e-5)


def test_a_kernel_without_statistics_gives_a_skip_and_no_figure(monkeypatch):
    read = observe._read
    monkeypatch.setattr(observe, "_read", lambda path: None if path.name in ("schedstat", "cpu") else read(path))
    seen = watch(seconds=0.05)
    assert (seen.run_delay_s, seen.pressure_s) == (None, None)
    assert {skip.subject for skip in seen.skips} >= {"run delay", "pressure"}


def test_an_interruption_ends_the_observation_and_keeps_it(monkeypatch):
    calls = []

    def interrupt_the_third(seconds):
        calls.append(seconds)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt_the_third)
    assert sum(watch(seconds=60).lengths) == 2
    assert len(set(calls)) == 3, "the distances differ"
