# SPDX-License-Identifier: Apache-2.0
"""`steelyard observe` as a user types it, and what the simulator makes of its recording."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.__main__ import main
from tests import processes
from tests.simulated import schedulers

BUSY = "import time\nend = time.monotonic() + 0.8\nwhile time.monotonic() < end: pass"


def test_a_short_look_says_how_long_the_queue_is_and_why_it_can_not_be_placed(laboratory):
    done = laboratory.do("observe", "--for", "300ms")
    assert done.returncode == 0, done.stderr
    assert "tasks that run or are ready" in done.stdout
    assert "Your run queue is" in done.stdout
    assert "there is no session" in done.stdout


def test_the_exit_code_of_the_command_becomes_ours_and_json_stays_clean(laboratory):
    code = "print('words of the command'); raise SystemExit(3)"
    done = laboratory.do("observe", "--json", "--", sys.executable, "-c", code)
    assert done.returncode == 3
    seen = json.loads(done.stdout)
    assert seen["observation"]["command_status"] == 3
    assert "words of the command" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--for", "0s"), ("--every", "nonsense"), ("--every", "1us"), ("--session", "nowhere"), ("--", "/no/such")],
)
def test_what_makes_no_sense_is_said_in_a_sentence(arguments, capsys):
    assert main(["observe", *arguments]) in (64, 66)
    said = capsys.readouterr().err
    assert said.startswith("steelyard: ")
    assert "Traceback" not in said


def test_a_recording_is_replayed_under_every_policy(laboratory):
    path = laboratory.folder / "trace.jsonl"
    done = laboratory.do("observe", "--record", str(path), "--every", "5ms", "--", sys.executable, "-c", BUSY)
    assert done.returncode == 0, done.stderr
    [listed] = schedulers.ask({"do": "policies"})
    names = [policy["name"] for policy in listed["policies"]]
    for answer in schedulers.ask(*({"do": "replay", "policy": name, "trace": str(path)} for name in names)):
        assert "error" not in answer
        assert answer["time_ns"] == answer["recorded_ns"]
        # By tracepoints the tasks of the command are told apart; by /proc their number alone is known.
        if "classes" in answer:
            assert sum(one["busy_ns"] for one in answer["classes"]) > 0
        else:
            # The length of the queue is looked at now and then: beside other work it misses some of who took turns.
            assert answer["switches"] >= 0.5 * answer["recorded_switches"] - 20


@pytest.fixture
def tracefs(tmp_path):
    """Where the kernel's tracer is; mounted for the test if nobody has mounted it."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "tracefs":
            yield Path(folder)
            return
    folder = tmp_path / "tracing"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tracefs", "none", folder], capture_output=True, check=False).returncode != 0:
        pytest.skip("tracefs can't be mounted: that needs root and a kernel with tracepoints")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_by_tracepoints_every_sleep_is_recorded_and_the_tracer_is_left_as_it_was(laboratory, tracefs):
    before = sorted((tracefs / "instances").iterdir())
    code = "import time\nfor _ in range(200): time.sleep(0.001)"
    done = laboratory.do("observe", "--json", "--record", "lives.jsonl", "--", sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["observation"]["recording"]["by"] == "tracepoints"
    assert sorted((tracefs / "instances").iterdir()) == before
    head, *lives = [json.loads(line) for line in (laboratory.folder / "lives.jsonl").read_text().splitlines()]
    assert head["tasks"] == len(lives)
    assert sum(head["time_at_length_ns"]) == head["length_ns"]
    assert max(sum(kind == "sleep" for kind, _ in life["acts"]) for life in lives) >= 200
    # Nobody ran longer than there was time on all CPUs.
    ran_ns = sum(number for life in lives for kind, number in life["acts"] if kind == "run")
    assert ran_ns <= 1.01 * head["length_ns"] * head["cpus"]


def test_the_counts_agree_with_vmstat_over_the_same_time(laboratory):
    vmstat = processes.tool("vmstat")  # Debian: procps

    def theirs() -> int:
        said = subprocess.run([vmstat, "-s"], capture_output=True, text=True, check=True).stdout
        [line] = [line for line in said.splitlines() if "context switches" in line]
        return int(line.split()[0])

    # What they count holds the observer and its start, so ours can only be lower.
    before = theirs()
    done = laboratory.do("observe", "--json", "--for", "1s")
    after = theirs()
    assert 0 < json.loads(done.stdout)["observation"]["switches"] <= after - before
