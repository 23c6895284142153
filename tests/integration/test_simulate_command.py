# SPDX-License-Identifier: Apache-2.0
"""`steelyard simulate` as a user types it: what comes out, and what is refused in a sentence."""

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from steelyard.__main__ import main
from steelyard.errors import LoadError, UsageError
from steelyard.measure import catalog
from tests import processes
from tests.integration.laboratory import words
from tests.many import lines_of, write
from tests.unit.judge.sessions import steady, weighed

TOML = """
title = "two hogs and a sleeper"
length = "4s"
[[tasks]]
name = "hogs"
count = 2
forever = true
[[tasks]]
name = "sleepers"
count = 20
run = "100us"
pause = { exponential = "20ms" }
"""


@pytest.fixture
def load(laboratory):
    path = laboratory.folder / "load.toml"
    path.write_text(TOML)
    return path.name


def simulated(laboratory, *arguments):
    done = laboratory.do("simulate", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_without_a_load_the_loads_and_policies_are_listed(laboratory):
    shown = laboratory.do("simulate")
    found = json.loads(laboratory.do("simulate", "--json").stdout)
    assert {one["alias"] for one in found["policies"]} >= {"changed", "sorted", "o1"}
    for one in (*(load["load"] for load in found["loads"]), *(policy["name"] for policy in found["policies"])):
        assert one in shown.stdout


def test_a_load_of_ones_own_is_simulated_under_the_policies_that_are_asked_for(laboratory, load):
    found = simulated(laboratory, load, "--policy", "o1,eevdf,changed")
    assert list(found["runs"]) == ["linux_2_6_o1", "eevdf", "linux_2_0_30_one_tick"]
    for [run] in found["runs"].values():
        assert run["seconds"] == 4
        hogs, sleepers = run["classes"]
        assert 0.8 < hogs["busy_share"] < 1
        assert sleepers["wake_up"]["count"] > 2000
        assert sleepers["wake_up"]["p50_ns"] <= sleepers["wake_up"]["p99_ns"] <= sleepers["wake_up"]["longest_ns"]
    assert simulated(laboratory, load, "--policy", "o1,eevdf,changed") == found, "the same again"
    assert simulated(laboratory, load, "--policy", "eevdf", "--seed", "2")["runs"] != found["runs"]


def test_the_table_ends_with_who_waits_and_the_picture_shows_it(laboratory, load):
    pages = ("--markdown", "page.md", "--report", "page.html", "--chart", "waits.svg")
    done = laboratory.do("simulate", load, "--policy", "o1,eevdf", "--seed", "3", *pages)
    assert done.returncode == 0, done.stderr
    assert "Of sleepers 99 % of the wake-ups wait at most" in done.stdout
    page = (laboratory.folder / "page.md").read_text()
    assert "## two hogs and a sleeper\n" in page
    assert "| sleepers | eevdf |" in page
    assert "`steelyard simulate load.toml --policy o1,eevdf --seed 3 --markdown page.md`" in page
    assert "data-figure=" in (laboratory.folder / "page.html").read_text()
    assert ET.parse(laboratory.folder / "waits.svg").getroot().tag.endswith("svg")


def test_of_the_benchmark_the_changed_yield_switches_half_as_often_between_two(laboratory):
    found = simulated(laboratory, "yielders")
    at_two = {one["policy"]: one for one in found["yields"] if one["contexts"] == 2}
    assert at_two["linux_2_0_30"]["switched_fraction"] == 1
    assert at_two["linux_2_0_30_one_tick"]["switched_fraction"] == pytest.approx(0.525, abs=1e-3)


def test_the_kernel_does_the_load_for_real_and_the_others_are_held_against_it(laboratory, load):
    found = simulated(laboratory, load, "--policy", "kernel,eevdf", "--length", "300ms", "--cpus", "1")
    [real] = found["runs"]["kernel"]
    assert found["left_out"] == []
    hogs, sleepers = real["classes"]
    # How much they get is the machine's doing; that all of them did what they should is not.
    assert hogs["busy_share"] > 0
    assert sleepers["tasks"] == 20
    assert sleepers["wake_up"]["count"] > 0
    assert {one["figure"] for one in found["against"]} >= {"hogs: CPU time", "sleepers: wake-up p50"}


def test_a_recorded_machine_is_replayed_beside_what_was_recorded(laboratory):
    recorded = laboratory.do("observe", "--record", "here.jsonl", "--for", "300ms")
    assert recorded.returncode == 0, recorded.stderr
    assert "recorded by" in recorded.stdout
    done = laboratory.do("simulate", "here.jsonl", "--policy", "linux_2_0_30,eevdf")
    assert done.returncode == 0, done.stderr
    assert "eevdf" in done.stdout


def test_what_the_machine_does_now_is_recorded_and_replayed_by_one_command(laboratory):
    found = simulated(laboratory, "here", "--length", "200ms", "--policy", "linux_2_0_30,changed")
    assert found["load"] == "here"
    assert found["recorded"]["by"] in ("tracepoints", "proc")
    assert list(found["runs"]) == ["linux_2_0_30", "linux_2_0_30_one_tick"]
    done = laboratory.do("simulate", "here", "--policy", "kernel,eevdf")
    assert done.returncode == UsageError.exit_code
    assert "leave kernel out of --policy" in words(done.stderr)


def test_costs_are_fitted_to_a_session_and_how_well_is_said(laboratory, load):
    curve = {1: 1e-6, 2: 2e-6, 4: 2.1e-6, 8: 2.2e-6, 64: 2.5e-6}
    session = weighed({f"switch/yield[contexts={n},kind=process]@same": steady(cost) for n, cost in curve.items()})
    write(laboratory.folder / "curve.session.jsonl", lines_of(session))
    found = simulated(laboratory, load, "--policy", "linux_2_0_30,eevdf", "--costs", "curve.session.jsonl")
    assert found["fitted"]["policy"] == "cfs", "the kernel of the session, not ours"
    assert found["costs"]["entry_ns"] > 500
    assert found["costs"]["change_ns"] > 500
    assert found["fitted"]["worst"] < 0.1
    assert all(run["overhead_share"] > 0 for [run] in found["runs"].values())


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (("nowhere.toml",), LoadError, "is no load of the library: autogroup, batch, cgroup, desktop"),
        (("load.toml", "--policy", "fifo"), UsageError, "there is no policy 'fifo'"),
        (("load.toml", "--policy", ","), UsageError, "--policy names none"),
        (("load.toml", "--cpus", "0"), UsageError, "--cpus is from 1 to 64"),
        (("load.toml", "--runs", "0"), UsageError, "--runs must be at least 1"),
        (("load.toml", "--length", "long"), UsageError, '"long" is not a duration'),
        (("load.toml", "--policy", "cfs", "--length", "1s", "--chart", "x.gif"), UsageError, ".svg and .png"),
        (("yielders", "--policy", "kernel"), UsageError, "are measured by `steelyard run switch/yield`"),
        (("web-site", "--policy", "kernel", "--length", "1s"), UsageError, "can be done for real"),
        (("web-site", "--length", "1s"), UsageError, "web-site lasts from 3.6s to 1000h: change --length"),
        (("bad.toml",), LoadError, "bad.toml: there is no key `cpu`"),
        (("cut.jsonl", "--policy", "cfs"), LoadError, "says that it holds 2 tasks, and holds 0"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(laboratory, load, arguments, error, sentence, monkeypatch, capsys):
    monkeypatch.chdir(laboratory.folder)
    Path("bad.toml").write_text('title = "x"\ncpu = 2\n')
    head = {"schedsim_trace": 2, "cpus": 1, "tasks": 2, "length_ns": 5, "tick_ns": 0, "switches": 0, "classes": ["a"]}
    Path("cut.jsonl").write_text(json.dumps(head) + "\n")
    assert main(["simulate", *arguments]) == error.exit_code
    said = capsys.readouterr().err
    assert sentence in words(said)
    assert "Traceback" not in said


OF_A_KERNEL = ("nice", "sched-batch", "sched-idle", "sched-fifo", "sched-rr", "sched-ext", "autogroup", "cgroup")


def test_classes_and_groups_of_the_kernel_are_done_for_real_or_left_out_with_the_reason(laboratory):
    done = laboratory.do("simulate", *OF_A_KERNEL, "--length", "100ms", "--policy", "kernel", "--json")
    assert done.returncode == 0, done.stderr
    for name, found in zip(OF_A_KERNEL, json.loads(done.stdout), strict=True):
        if found["left_out"]:
            assert name not in ("nice", "sched-batch", "sched-idle"), "everybody may do these"
            assert not found["runs"]
            [reason] = found["left_out"]
            assert re.match(r"kernel: .{20,}", reason), reason
        else:
            [run] = found["runs"]["kernel"]
            assert len(run["classes"]) > 1
            # How they share the CPU is the machine's doing; that each had some of it shows that it was there.
            assert all(one["busy_share"] > 0 for one in run["classes"] if "sleeper" not in one["name"]), run["classes"]
    processes.until(lambda: not left_behind(), "every control group is removed")


def control_groups():
    """The control groups that were made for loads, and not removed."""
    return sorted(Path("/sys/fs/cgroup").glob("**/schedsim-*"))


def left_behind():
    """Those of programs that have ended: others may be at work."""
    return [group for group in control_groups() if not Path("/proc", group.name.split("-")[1]).exists()]


def test_control_groups_are_removed_whoever_is_killed(laboratory):
    def started():
        return [group for group in control_groups() if group.name.startswith(f"schedsim-{live.pid}-")]

    program = catalog.native_folder() / "engines" / "schedsim_live"
    one = {"name": "a", "then": "forever", "weight": 100}
    request = {"do": "tasks", "length_ns": 60_000_000_000, "tasks": [one]}
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as live:
        try:
            live.stdin.write(json.dumps(request))
            live.stdin.close()
            processes.until(lambda: started() or live.poll() is not None, "it begins or refuses")
            if live.poll() is not None:
                pytest.skip(f"no control group may be made here: {live.stdout.read()}")
        finally:
            live.kill()
    processes.until(lambda: not started(), "the control group is removed")


def test_where_nothing_can_be_done_the_reason_is_the_error(laboratory):
    state = Path("/sys/kernel/sched_ext/state")
    if state.exists() and state.read_text().strip() == "enabled":
        pytest.skip("a scheduler of sched_ext is loaded here")
    done = laboratory.do("simulate", "sched-ext", "--length", "50ms")
    assert done.returncode == LoadError.exit_code
    assert "sched-ext: kernel: the tasks ext sleeper may not be ext: " in words(done.stderr)


@pytest.mark.parametrize(("nice", "started_with"), [(-5, ()), (0, ("nice", "-n", "5"))])
def test_a_load_that_needs_rights_is_left_out_with_the_reason(laboratory, nice, started_with):
    (laboratory.folder / "real.toml").write_text(
        f'title = "x"\nlength = "50ms"\n[[tasks]]\nname = "a"\nforever = true\nnice = {nice}\npolicy = "other"\n'
    )
    setpriv = processes.tool("setpriv")
    command = processes.command("simulate", "real.toml", "--policy", "kernel,eevdf")
    laboratory.temporary.mkdir(exist_ok=True)
    done = subprocess.run(
        [*started_with, setpriv, "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice", *command],
        cwd=laboratory.folder, env=laboratory.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "setpriv:" in done.stderr:
        pytest.skip("only root can give a right up for a command")
    assert done.returncode == 0, done.stderr
    assert f"left out: kernel: the tasks a may not be other with nice {nice}" in words(done.stdout)
