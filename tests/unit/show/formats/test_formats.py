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


HYPERFINE_2 = {
    "schema_version": 2,
    "metadata": {"hyperfine_version": "2.0.0", "start_time": "2026-01-02T03:04:05Z"},
    "primary_metric": "time_wall_clock",
    "results": [
        {
            "command": "sleep 1",
            "name": "one second",
            "measurements": [
                {"time_wall_clock": {"value": value, "unit": "second"}, "exit_code": 0} for value in (1.0, 1.25)
            ],
        }
    ],
}


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


def test_hyperfine_2_gives_its_measurements_its_names_and_its_moment():
    file = read(HYPERFINE_2)
    assert (file.samples[0].name, file.samples[0].runs) == ("one second", (1.0, 1.25))
    assert file.started == "2026-01-02T03:04:05+00:00"


def test_what_a_file_says_of_its_machine_and_moment_is_kept():
    said = {**PYPERF["metadata"], "cpu_model_name": "Example CPU", "cpu_count": 4, "date": "2020-02-03 04:05:06.789"}
    pyperf = read({**PYPERF, "metadata": said})
    assert pyperf.facts == {"cpu": "Example CPU", "logical cpus": "4"}
    assert pyperf.started == "2020-02-03T04:05:06+00:00"
    google = read({**GOOGLE, "context": {**GOOGLE["context"], "date": "2020-02-03T04:05:06+08:00"}})
    assert (google.facts, google.started) == ({"logical cpus": "2"}, "2020-02-03T04:05:06+08:00")


def test_a_date_that_is_none_is_not_known():
    assert read({**GOOGLE, "context": {"date": "yesterday", "num_cpus": 2}}).started is None


def test_control_characters_in_foreign_names_become_visible():
    file = read({"results": [{"command": "a\n\x1b[31mb\u202e", "times": [1.0]}]})
    assert file.samples[0].name == "a␊␛[31mb<U+202E>"


def hyperfine(**fields):
    return json.dumps({"results": [{"command": "x", "times": [1.0], **fields}]}).encode()


@pytest.mark.parametrize("tool", ["pyperf", "google/benchmark", "hyperfine"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused_in_one_sentence(tool, share):
    whole = json.dumps({"pyperf": PYPERF, "google/benchmark": GOOGLE, "hyperfine": HYPERFINE}[tool]).encode()
    with pytest.raises(SessionFileError, match="neither a session nor a JSON file"):
        formats.read(whole[: int(share * len(whole))], "file.json")


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (hyperfine(times=[0.0]), "above zero"),
        (hyperfine(times=[-1.0]), "above zero"),
        (hyperfine(times=["a"]), "malformed"),
        (hyperfine(times=[[[[1.0]]]]), "malformed"),
        (hyperfine(times={"a": 1}), "malformed"),
        (hyperfine(times=[]), "no times"),
        (hyperfine(command=""), "no name"),
        (hyperfine(command="\n").replace(b"\\n", b" "), "no name"),
        (hyperfine(command=None), "malformed"),
        (hyperfine(command="x" * 1_000_000), "1000000 characters"),
        (b'{"results": []}', "no results"),
        (b'{"results": [{"command": "x", "times": [1e999]}]}', "neither|above zero|malformed"),
        (b'{"results": [{"command": "x", "times": [NaN]}]}', "neither"),
        (b'{"results": [{"command": "x", "times": [1' + b"0" * 5000 + b"]}]}", "neither|malformed|above zero"),
        (b'{"results": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "neither|malformed"),
        (b'{"results": [{"command": "x", "times": [1]}, {"command": "x", "times": [2]}]}', "2 results are called"),
        (
            b'{"results": [{"command": "x", "measurements": [{"time_wall_clock": {"value": 1, "unit": "hour"}}]}]}',
            "another unit",
        ),
        (b'{"context": 1, "benchmarks": []}', "malformed"),
        (b'{"context": {}, "benchmarks": []}', "no results"),
        (b'{"context": {}, "benchmarks": [{"name": "x", "real_time": 0}]}', "above zero"),
        (b'{"context": {}, "benchmarks": [{"name": "x", "error_occurred": true}]}', "no results"),
        (b'{"version": "1.0", "benchmarks": [{"runs": [{"values": [0.0]}]}]}', "above zero"),
        (b'{"version": "1.0", "metadata": {"unit": "parsec"}, "benchmarks": [{"runs": [{"values": [1]}]}]}', "parsec"),
        (b'{"benchmarks": [{"name": "test_x", "stats": {"mean": 1}}], "machine_info": {}}', "neither a session nor a"),
        (b"", "neither"),
        (b"\x00" * 10_000, "neither"),
        (b"PAR1\x15\x04\x15", "neither"),
        (b"\x1f\x8b\x08\x00\x00", "neither"),
    ],
)
def test_what_no_sample_can_be_made_of_is_refused_in_one_sentence(contents, words):
    with pytest.raises(SessionFileError, match=words) as refused:
        formats.read(contents, "file.json")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


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
