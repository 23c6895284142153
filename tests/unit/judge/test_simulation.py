# SPDX-License-Identifier: Apache-2.0
"""Loads are read, refused and asked about; answers become figures; a simulation is held against a kernel."""

import json
from pathlib import Path

import msgspec
import pytest

from steelyard.errors import LoadError, UsageError
from steelyard.judge import simulation
from steelyard.judge.findings import judge
from steelyard.judge.reasons import Reason, Why
from steelyard.judge.simulation import Costs, Way
from tests.making import a_case, a_run_each, a_session
from tests.unit.judge.sessions import steady, weighed

WAY = Way(costs=Costs(entry_ns=100))
TASKS = 'title = "x"\n[[tasks]]\nname = "a"\n'


def load(text):
    return simulation.read("x.toml", text.encode())


def test_every_load_of_the_library_can_be_asked_about():
    for name, one in simulation.library().items():
        for asked in simulation.requests(one, "eevdf", WAY, seed=1):
            assert asked["policy"] == "eevdf", name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("title = ", "is no TOML"),
        ('title = "x"', "it has no [[tasks]]"),
        (TASKS + "forever = true\ncounts = 2\n", "there is no key `counts`"),
        (TASKS, "none does"),
        (TASKS + 'run = "1ms"\npause = "2ms"\nforever = true\n', "pause and forever do"),
        (TASKS + 'pause = "2ms"\n', "run is missing"),
        (TASKS + 'run = "1ms"\nforever = true\n', "has no run"),
        (TASKS + 'run = "0s"\npause = "0s"\n', "takes no time at all"),
        (TASKS + 'run = "quick"\npause = "1s"\n', '"quick" is not a duration'),
        (TASKS + 'run = { normal = "1ms" }\npause = "1s"\n', "exponential, uniform, mixture"),
        (TASKS + 'run = { uniform = ["2ms", "1ms"] }\npause = "1s"\n', "begins with the shorter time"),
        (TASKS + 'run = { mixture = [2, "2ms", "1ms"] }\npause = "1s"\n', "a share from 0 to 1"),
        (TASKS + "forever = true\nnice = 20\n", "nice is from -20 to 19, not 20"),
        (TASKS + "forever = true\nautogroup = 20\n", "autogroup is from -20 to 19, not 20"),
        (TASKS + "forever = true\nweight = 0\n", "weight is from 1 to 10000, not 0"),
        (TASKS + "forever = true\ncount = 0\n", "count is from 1 to 65536, not 0"),
        (TASKS + 'forever = true\n[[tasks]]\nname = "a"\nforever = true\n', "two classes of tasks are called 'a'"),
        ("cpus = 0\n" + TASKS + "forever = true\n", "cpus is from 1 to 64, not 0"),
        ('length = "long"\n' + TASKS + "forever = true\n", "length:"),
        (TASKS + 'run = "3ms"\nevery = "2ms"\n', "need 1.50 CPUs and it has 1"),
        ('title = "x"\nmodel = "yield"\n', "contexts is a list"),
        (TASKS + 'forever = true\n[[compared]]\nfigure = "CPU time"\nof = "b"\nover = "a"\n', "no class of tasks 'b'"),
        (TASKS + 'forever = true\n[[compared]]\nfigure = "speed"\nof = "a"\nover = "a"\n', "one of CPU time, wake-up"),
        ('{"schedsim_trace":3,"cpus":1,"tasks":2}\n', "is no recording"),
    ],
)
def test_what_no_load_can_be_is_one_sentence_with_its_place(text, sentence):
    with pytest.raises(LoadError) as error:
        load(text)
    assert sentence in str(error.value)
    assert str(error.value).startswith("x.toml")


def test_every_key_of_a_load_is_in_the_reference():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "loads.md").read_text()
    made_by_the_reader = {"place", "recorded"}
    for kind in (simulation.Load, simulation._Tasks, simulation._Compared, Costs):
        for name in {*kind.__struct_fields__} - made_by_the_reader:
            assert f"`{name}`" in page or f"`[[{name}]]`" in page, name


def test_times_are_asked_for_in_nanoseconds():
    [asked] = simulation.requests(
        load(
            TASKS + 'run = "1500us"\npause = { uniform = ["1ms", "2ms"] }\n'
            '[[tasks]]\nname = "b"\nrun = { mixture = [0.5, "1ms", "9ms"] }\nevery = { exponential = "20ms" }\n'
        ),
        "cfs",
        WAY,
        seed=3,
    )
    a, b = asked["tasks"]
    assert (a["then"], a["run"], a["pause"]) == ("pause", {"constant": 1_500_000}, {"uniform": [1_000_000, 2_000_000]})
    assert (b["then"], b["run"]) == ("request", {"mixture": [0.5, 1_000_000, 9_000_000]})
    assert (asked["seed"], asked["costs"]["entry_ns"], asked["length_ns"]) == (3, 100, 60_000_000_000)


def test_a_recording_is_known_by_its_first_line():
    head = {"schedsim_trace": 2, "cpus": 3, "tasks": 9, "time_at_length_ns": [5, 1, 9]}
    found = load(json.dumps(head) + "\nwhat follows is for the simulator\n")
    assert (found.model, found.cpus, found.recorded.median_runnable) == ("recording", 3, 2)
    [asked] = simulation.requests(found, "cfs", WAY, seed=1)
    assert (asked["do"], asked["trace"]) == ("replay", "x.toml")


@pytest.mark.parametrize(
    ("release", "policy"),
    [("6.18.44-fc", "eevdf"), ("6.6.0", "eevdf"), ("6.5.13", "cfs"), ("2.6.23", "cfs"), ("2.6.22", "linux_2_6_o1")],
)
def test_the_policy_of_a_kernel_is_known_by_its_release(release, policy):
    assert simulation.policy_of_kernel(release) == policy


def seen(policy, wake_up_ns, cpu=0.5):
    times = {"count": 2000, "mean_ns": 1, "p90_ns": 1, "p99_9_ns": 1, "longest_ns": 1}
    times |= {"p50_ns": wake_up_ns, "p99_ns": 2 * wake_up_ns}
    answer = {
        "policy": policy, "time_ns": 10**9, "busy_share": cpu, "voluntary": 10, "involuntary": 20,
        "classes": [{"name": "a", "tasks": 1, "busy_ns": cpu * 1e9, "fairness": 1.0, "wake_up": times,
                     "response": times}],
    }  # fmt: skip
    return simulation.seen(answer)


def test_a_simulation_is_held_against_the_kernel_run_by_run():
    runs = {
        "kernel": [seen("kernel", 100 * (n + 1)) for n in range(6)],
        "cfs": [seen("cfs", 150 * (n + 1), cpu=0.25) for n in range(6)],
    }
    found = {one.figure: one.ratio for one in simulation.held_against(runs)}
    # Each run is 1.5 times that of the same seed, though the runs differ by 6.
    assert found["a: wake-up p50"].low == found["a: wake-up p50"].high == pytest.approx(1.5)
    assert found["a: CPU time"].median == 0.5
    assert simulation.held_against({"cfs": runs["cfs"]}) == ()


def two_classes(cpu, over_cpu, over_ns):
    first, second = seen("kernel", 400, cpu), seen("kernel", over_ns, over_cpu)
    [other] = second.classes
    return msgspec.structs.replace(first, classes=(*first.classes, msgspec.structs.replace(other, name="b")))


def test_classes_of_a_load_are_held_against_each_other_within_each_run():
    text = TASKS + 'forever = true\n[[tasks]]\nname = "b"\nforever = true\n'
    for figure, more in (("CPU time", "promised = 2\n"), ("wake-up p50", ""), ("response p90", "")):
        text += f'[[compared]]\nfigure = "{figure}"\nof = "a"\nover = "b"\n{more}'
    runs = [two_classes(0.2 * (n + 1), 0.1 * (n + 1), 100 * (n + 1)) for n in range(6)]
    share, wait, response = simulation.compared(load(text), {"kernel": runs})
    assert (share.policy, share.of, share.over, share.promised) == ("kernel", "a", "b", 2)
    assert share.ratio.low == share.ratio.high == pytest.approx(2), "the runs differ by 6, the ratios do not"
    assert (wait.ratio.high, wait.ratio.low, wait.promised) == (pytest.approx(4), pytest.approx(4 / 6), None)
    assert response.ratio.median == pytest.approx(1)
    few = [*runs[:5], msgspec.structs.replace(runs[5], classes=runs[5].classes[:1])]
    assert simulation.compared(load(text), {"kernel": few}) == (), "one run has nothing of the other class"


@pytest.mark.parametrize(("key", "value"), [("policy", "fifo"), ("weight", 200), ("autogroup", 0), ("autogroup", -3)])
def test_classes_and_groups_of_scheduling_are_for_the_kernel_alone(key, value):
    one = load(TASKS + f"forever = true\n{key} = {json.dumps(value)}\n")
    with pytest.raises(UsageError, match="a: the simulated schedulers have no scheduling classes and no groups"):
        simulation.refuse_what_a_kernel_has(one, ["kernel", "cfs"])
    simulation.refuse_what_a_kernel_has(one, ["kernel"])
    assert simulation.live_request(one, WAY, 1)["tasks"][0][key] == value


def test_a_void_session_gives_no_costs():
    steady = a_run_each(a_case(), *[1e-6] * 6)
    void = msgspec.structs.replace(judge(a_session(*steady)), void=Reason(Why.NO_TIME))
    with pytest.raises(UsageError, match="is void: take costs from another session"):
        simulation.curve(void)


def test_costs_are_fitted_to_all_points_and_tried_on_every_second():
    points = [(1, 1e-7), (2, 2e-7), (8, 3e-7), (64, 4e-7)]
    whole, half = simulation.to_calibrate(points, "eevdf")
    assert [one["fitted"] for one in whole["points"]] == [True] * 4
    assert [one["fitted"] for one in half["points"]] == [True, False, True, True]
    assert whole["points"][3] == {"policy": "eevdf", "contexts": 64, "ns": pytest.approx(400), "fitted": True}


def test_the_curve_of_a_session_is_that_of_processes_on_one_cpu():
    costs = {f"switch/yield[contexts={n},kind=process]@same": steady(n * 1e-6) for n in (8, 1, 64, 2, 4096)}
    costs |= {f"switch/yield[contexts={n},kind=thread]@same": steady(1e-6) for n in (1, 2, 4, 8)}
    found = simulation.curve(judge(weighed(costs)))
    assert [contexts for contexts, _ in found] == [1, 2, 8, 64], "4096 are beyond what is simulated"
    assert found[2][1] == pytest.approx(8e-6, rel=0.02)
    threads = {name: cost for name, cost in costs.items() if "thread" in name}
    with pytest.raises(UsageError, match="has 0 points of switch/yield by contexts, and costs need 4"):
        simulation.curve(judge(weighed(threads)))


def test_the_costs_of_a_kernel_of_today_have_the_recalculation_of_1998():
    findings = judge(weighed({"switch/yield[contexts=2,kind=process]@same": steady(1e-6)}))
    answer = {
        "costs": {"entry_ns": 1, "search_ns": 526, "recalculation_ns": 0, "change_ns": 3},
        "points": [{"contexts": 2, "ns": 1000.0, "simulated_ns": 900.0, "fitted": True}],
        "worst_fitted": 0.1,
        "worst_predicted": 0.2,
    }
    costs, fitted = simulation.calibrated(findings, "6.18", "eevdf", [answer, answer])
    assert costs == Costs(entry_ns=1, search_ns=526, recalculation_ns=637, change_ns=3)
    assert (fitted.worst, fitted.worst_predicted, fitted.points[0].simulated_s) == (0.1, 0.2, pytest.approx(9e-7))
    costs, _ = simulation.calibrated(findings, "2.0.30", "linux_2_0_30", [answer, answer])
    assert costs.recalculation_ns == 0


def test_recordings_of_either_kind_can_be_read_back_from_what_is_written():
    recorded = simulation.Recorded(schedsim_trace=1, cpus=2, tasks=3)
    assert recorded.median_runnable is None
    assert msgspec.to_builtins(recorded)["by"] == "proc"
