# SPDX-License-Identifier: Apache-2.0
"""`compare` and `check` as a person uses them. Verdicts are asked of planted differences only, never of the machine."""

import gzip
import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from steelyard.__main__ import main
from steelyard.errors import BusyError, UsageError
from steelyard.measure.catalog import native_folder
from tests.integration.laboratory import a_laboratory, words

BRIEF = ("--target", "1ms", "--values", "3", "--blocks", "8", "--deadline", "10s", "--seed", "1")


def judged(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_planted_half_is_found_when_a_parameter_is_varied(laboratory):
    [case] = judged(laboratory.do("compare", "--vary", "param:delay_percent=0,50", "null", *BRIEF, "--json"))
    assert case["case"] == "null/null[copy=0]@same"
    # Six blocks, one of which may be disturbed: undecided then, but an interval that has half more in its reach.
    assert (case["verdict"], case["worse"]) == ("different", True) or case["verdict"] == "undecided"
    assert case["high"] > 1.25


def test_an_environment_is_varied_and_reaches_the_probe_only_in_its_variant(laboratory):
    cases = judged(laboratory.do("compare", "--vary", "env:SOMETHING=1,2", "null", *BRIEF, "--json"))
    assert [case["case"] for case in cases] == ["null/null[delay_percent=0,copy=0]@same"]


def test_blocks_that_cannot_decide_are_raised_before_anything_is_measured(laboratory):
    few = ("--target", "1ms", "--values", "3", "--blocks", "2", "--seed", "1")
    done = laboratory.do("compare", "--vary", "env:SOMETHING=1,2", "null", *few)
    assert done.returncode == 0, done.stderr
    assert "2 blocks cannot decide 1 comparison: measuring 6 blocks" in done.stderr
    assert "1 comparison: 6 blocks at most, about" in done.stderr
    assert "∞" not in done.stdout


def test_an_interpreter_is_varied_for_probes_in_python(capsys):
    assert main(["compare", "--vary", "python:python3,python3", "null", *BRIEF]) == UsageError.exit_code
    assert "no selected probe is written in Python" in words(capsys.readouterr().err)


@pytest.mark.parametrize(
    "vary",
    ["nonsense", "env:A=1", "env:A=1,2,3", "colour:A=1,2", "param:delay_percent=0", "probe-dir:x,y", "python:x,y"],
)
def test_a_vary_that_means_nothing_is_one_sentence(vary, capsys):
    assert main(["compare", "--vary", vary, "null", *BRIEF]) == UsageError.exit_code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("steelyard: ")
    assert "Traceback" not in printed.err


@pytest.fixture
def folders(laboratory):
    """Two folders of probes that are the same: an A/A check."""
    for name in ("old", "new"):
        shutil.copytree(native_folder() / "probes" / "null", laboratory.folder / name / "null")
    return laboratory.folder / "old", laboratory.folder / "new"


def test_a_check_of_two_equal_folders_does_not_fail(laboratory, folders):
    junit, markdown = laboratory.folder / "junit.xml", laboratory.folder / "comment.md"
    done = laboratory.do(
        *("check", *folders, "null", "--margin", "90%", "--blocks", "8"),
        # On a machine that others use all of it may be disturbed, and then it is undecided: never worse.
        *("--undecided", "pass", "--junit", junit, "--markdown", markdown),
    )
    assert done.returncode == 0, done.stderr
    suite = ET.parse(junit).getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("1", "0")
    assert "null/null" in markdown.read_text()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A session of a call that does nothing."""
    with a_laboratory(tmp_path_factory.mktemp("base")) as laboratory:
        path = laboratory.session_path
        done = laboratory.do("run", "direct", *BRIEF, "-o", path)
        assert done.returncode == 0, done.stderr
        yield path


def test_a_check_finds_what_is_worse_twice_before_it_says_so(laboratory, tmp_path, base):
    measured = base.read_text()
    slower_base, slow = tmp_path / "base.session.jsonl", tmp_path / "slow.session.jsonl"
    # So slow is no machine, whatever others do on it: measured again, NEW is faster than this BASE.
    slower_base.write_text(slower(measured, by=100))
    slow.write_text(slower(measured, by=200))
    done = laboratory.do("check", slower_base, slow, "--margin", "5%", *BRIEF)
    assert "measuring again" in done.stderr
    if done.returncode == BusyError.exit_code:
        pytest.skip(f"others use this machine: {done.stderr.splitlines()[-1]}")
    assert "looked worse once and not again" in done.stdout
    assert done.returncode == 2


def slower(text, by=2):
    """The same session with call/direct slower by a factor."""
    lines = []
    for line in text.splitlines():
        record = json.loads(line)
        if record["type"] == "run" and record["case"].startswith("call/direct"):
            for value in record["values"]:
                value["wall_ns"] *= by
        lines.append(json.dumps(record))
    return "\n".join(lines) + "\n"


def test_two_sessions_are_compared_case_by_case(laboratory, tmp_path, base):
    slow = tmp_path / "slow.session.jsonl"
    slow.write_text(slower(base.read_text()))
    [case] = judged(laboratory.do("compare", base, slow, "--json"))
    assert (case["case"], case["verdict"]) == ("call/direct@same", "different")
    assert case["ratio"] == pytest.approx(2, rel=1e-6)


RECORDED = Path(__file__).parents[1] / "golden" / "first.session.jsonl.gz"


def test_ways_of_a_recorded_session_are_compared_pair_by_pair_and_by_other_metrics(laboratory, tmp_path):
    recorded = tmp_path / "recorded.session.jsonl"
    recorded.write_bytes(gzip.decompress(RECORDED.read_bytes()))
    sides = ("message/latency_pipe", "message/latency_unix_stream", "--session", recorded)
    cases = judged(laboratory.do("compare", *sides, "--json"))
    assert [case["case"] for case in cases] == ["size=1,kind=process@same", "size=1,kind=process@cross"]
    assert {case["metric"] for case in cases} == {"round_trip"}
    tails = judged(laboratory.do("compare", *sides, "--metric", "p99", "--json"))
    assert {case["metric"] for case in tails} == {"p99"}
    done = laboratory.do("compare", *sides, "--metric", "p98")
    assert done.returncode == 65
    assert "--metric p98: what is compared of" in done.stderr
    assert "has round_trip, " in done.stderr


def test_two_cases_of_a_session_are_compared_by_blocks(laboratory, base):
    [case] = judged(laboratory.do("compare", "call/loop", "call/direct", "--session", base, "--json"))
    assert (case["case"], case["n"]) == ("call/direct@same", 8)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("compare", "call/loop"), 64, "two sides"),
        (("compare", "no.json", "other.json"), 64, "no file"),
        (("compare", "call/loop", "call/nothing"), 66, "no session"),
        (("check", "missing", "other"), 66, "cannot be read"),
        (("check", "missing", "other", "--margin", "lots"), 64, "--margin"),
    ],
)
def test_sides_that_do_not_exist_are_one_sentence(arguments, code, sentence, capsys):
    assert main([*arguments]) == code
    assert sentence in words(capsys.readouterr().err)


def test_a_file_without_the_process_level_is_judged_with_a_warning(laboratory, tmp_path):
    def google(path, centre):
        benchmarks = [
            {"name": "BM", "run_type": "iteration", "real_time": centre * (1 + n / 1000), "time_unit": "ns"}
            for n in range(9)
        ]
        path.write_text(json.dumps({"context": {}, "benchmarks": benchmarks}))
        return path

    a, b = google(tmp_path / "a.json", 100.0), google(tmp_path / "b.json", 150.0)
    done = laboratory.do("compare", a, b)
    assert done.returncode == 0, done.stderr
    assert "does not say what belongs to which process" in words(done.stdout)
    assert "different by +50.0 %" in done.stdout
