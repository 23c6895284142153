# SPDX-License-Identifier: Apache-2.0
"""What the library says that the simulator says is what it says, and the simulator passes its own tests."""

import json
import subprocess
import sysconfig

import pytest

from steelyard.judge import studies
from tests import processes
from tests.simulated import schedulers


def test_the_library_holds_what_the_simulator_says():
    for file, said in schedulers.files().items():
        assert said == file.read_bytes(), f"read the difference in {file}, then run `python -m tests.simulated.accept`"


def test_the_model_of_the_site_gives_what_was_measured_of_it():
    known = {item.figure.mechanism: item.figure.value for item in studies.library().figures}
    own = next(study for study in studies.library().studies if study.source.name == "linux-scheduler-1999")
    fitted = [figure for figure in own.simulated if figure.fitted]
    assert len(fitted) == len(schedulers.MEASURED)
    for figure in fitted:
        assert figure.value == pytest.approx(known[figure.mechanism], rel=0.15), figure.mechanism


def test_the_costs_are_fitted_to_the_published_figures_and_to_no_others():
    known = {item.figure.mechanism: item.figure.value for item in studies.library().figures}
    lines = [json.loads(line) for line in schedulers.STUDY.read_text().splitlines()]
    for kind, line in zip(schedulers.KINDS, lines, strict=True):
        for point in line["points"]:
            name = f"{schedulers.POLICIES[point['policy']]}, a yield among {point['contexts']} {kind}"
            assert known[name] == pytest.approx(point["ns"] / 1e9)


def test_of_the_changed_kernel_only_two_contexts_are_fitted():
    fitted = {figure["mechanism"] for figure in schedulers.figures(schedulers.answers()) if figure["fitted"]}
    changed = {name for name in fitted if "changed" in name}
    assert changed == {f"Linux 2.0.30 with the changed yield, a yield among 2 {kind}" for kind in schedulers.KINDS}


def test_the_ratios_of_the_article_contradict_the_table_and_the_simulation_agrees_with_the_table():
    known = {item.figure.mechanism: item.figure for item in studies.library().figures}
    simulated = {figure["mechanism"]: figure["value"] for figure in schedulers.figures(schedulers.answers())}
    for kind, said in (("processes", 1.9), ("threads", 3.2)):
        ratio = known[f"yield among 40 {kind}, Linux 2.0.30 over NT"]
        linux, nt = f"Linux 2.0.30, a yield among 40 {kind}", f"Windows NT, a yield among 40 {kind}"
        assert ratio.value == said
        assert ratio.corrected == pytest.approx(known[linux].value / known[nt].value, abs=0.005)
        assert simulated[linux] / known[nt].value == pytest.approx(ratio.corrected, rel=0.03)
    process, thread = (known[f"Windows NT, creating a {what}"].value for what in ("process", "thread"))
    assert known["process over thread on NT, created"].value * thread > 5 * process


def test_costs_can_be_taken_from_a_curve_of_today():
    # A curve that is linear in the logarithm of the contexts, as a tree's would be.
    points = [{"policy": "eevdf", "contexts": n, "ns": 400 + 20 * n.bit_length()} for n in (2, 4, 8, 64, 512)]
    [answer] = schedulers.ask({"do": "calibrate", "points": points})
    assert answer["worst_fitted"] < 0.05
    assert answer["costs"]["search_ns"] > 0


def test_the_engine_is_built_alone_and_passes_its_own_tests(tmp_path):
    processes.tool("c++")
    cmake, ninja = processes.tool("cmake"), processes.tool("ninja")
    engine = schedulers.STUDY.parents[1]
    options = (f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DCMAKE_PREFIX_PATH={sysconfig.get_path('purelib')}")
    for command in (
        [cmake, "-S", engine, "-B", tmp_path, "-G", "Ninja", *options],
        [cmake, "--build", tmp_path, "--parallel", "2"],
        [processes.tool("ctest"), "--test-dir", tmp_path, "--output-on-failure"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_engine_knows_nothing_of_the_lab():
    engine = schedulers.STUDY.parents[1]
    for path in [*engine.rglob("*.cpp"), *engine.rglob("*.hpp")]:
        assert "steelyard" not in path.read_text().lower(), path
