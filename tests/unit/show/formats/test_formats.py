# SPDX-License-Identifier: Apache-2.0
import json
from xml.etree import ElementTree as ET

import pytest

from steelyard.errors import SessionFileError
from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.show import formats

PYPERF = {
    "version": "1.0",
    "metadata": {"name": "loop", "unit": "second"},
    "benchmarks": [
        {
            "runs": [
                {"metadata": {"calibrate_loops": 8}, "warmups": [[1, 0.5]]},
                {"values": [0.1, 0.3, 0.2], "warmups": [[1, 0.9]]},
                {"values": [0.4, 0.4, 0.4]},
            ]
        }
    ],
}
GOOGLE = {
    "context": {"num_cpus": 2, "json_schema_version": 1},
    "benchmarks": [
        {"name": "BM_x", "run_name": "BM_x", "run_type": "iteration", "real_time": 12.0, "time_unit": "us"},
        {"name": "BM_x", "run_name": "BM_x", "run_type": "iteration", "real_time": 14.0, "time_unit": "us"},
        {"name": "BM_x_mean", "run_name": "BM_x", "run_type": "aggregate", "real_time": 13.0, "time_unit": "us"},
    ],
}
HYPERFINE = {"results": [{"command": "sleep 0.1", "mean": 0.1, "times": [0.1, 0.11, 0.12], "exit_codes": [0, 0, 0]}]}


def read(data):
    return formats.read(json.dumps(data).encode(), "file.json")


def test_pyperf_gives_one_number_a_process_and_no_calibration():
    file = read(PYPERF)
    assert (file.tool, file.samples[0].name, file.samples[0].runs) == ("pyperf", "loop", (0.2, 0.4))
    assert file.samples[0].processes_known


def test_google_benchmark_gives_repetitions_in_seconds_without_aggregates():
    [sample] = read(GOOGLE).samples
    assert sample.runs == pytest.approx((12e-6, 14e-6))
    assert not sample.processes_known


def test_hyperfine_gives_its_times():
    [sample] = read(HYPERFINE).samples
    assert (sample.name, sample.runs) == ("sleep 0.1", (0.1, 0.11, 0.12))


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"not json", "neither a session nor a JSON file"),
        (b"[1, 2]", "neither a session nor a file of"),
        (b'{"what": 1}', "neither a session nor a file of"),
        (b'{"results": [{"command": "x"}]}', "hyperfine but is malformed"),
        (b'{"results": 3}', "hyperfine but is malformed"),
        (b'{"version": "1.0", "benchmarks": [{"runs": []}]}', "pyperf but is malformed"),
        (b'{"context": {}, "benchmarks": [{"name": "x", "real_time": 1, "time_unit": "y"}]}', "malformed"),
        (b"[" * 100_000, "neither"),
        (b"\xff\xfe", "neither"),
    ],
)
def test_what_is_no_known_file_is_refused_in_one_sentence(contents, words):
    with pytest.raises(SessionFileError, match=words):
        formats.read(contents, "file.json")


def compared(case, verdict, ratio, worse=False, **more):
    return Compared(
        case=case,
        metric="cost",
        unit="s",
        better="lower",
        a=1e-6,
        b=ratio * 1e-6,
        n=20,
        ratio=ratio,
        low=ratio * 0.99,
        high=ratio * 1.01,
        verdict=verdict,
        worse=worse,
        **more,
    )


FOUND = Comparisons(
    kind="blocks",
    a="old",
    b="new",
    margin=0.05,
    confidence=0.96,
    cases=(
        compared("x/equal@same", "equivalent", 1.0),
        compared("x/open@same", "undecided", 1.05, more_blocks=14, more_minutes=3.0),
        compared("x/slow|er@same", "different", 1.123, worse=True),
    ),
    left_out=(),
    caveats=("a doubt",),
)


def test_junit_has_a_failure_for_worse_and_a_skip_for_undecided():
    suite = ET.fromstring(formats.modules()["junit"].comparisons(FOUND))
    assert suite.attrib["tests"] == "3"
    assert suite.attrib["failures"] == "1"
    assert suite.attrib["skipped"] == "1"
    messages = {test.attrib["name"]: [child.attrib["message"] for child in test] for test in suite}
    assert messages["x/equal@same"] == []
    assert messages["x/slow|er@same"] == ["different by +12.3 % [+11.2, +13.4]"]
    assert messages["x/open@same"] == ["undecided: 14 more blocks, about 3 min 00 s"]


def test_a_void_session_is_an_error_in_junit_not_a_verdict():
    import msgspec

    suite = ET.fromstring(formats.modules()["junit"].comparisons(msgspec.structs.replace(FOUND, void="drifted")))
    assert suite.attrib["errors"] == "1"
    assert all(test.find("failure") is None for test in suite)


def test_markdown_puts_what_is_worse_first_and_keeps_its_table_whole():
    text = formats.modules()["markdown"].comparisons(FOUND)
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows[0].startswith("| `x/slow\\|er@same`")
    assert "**worse**" in rows[0]
    assert len(rows) == 3
    assert "- a doubt" in text
