# SPDX-License-Identifier: Apache-2.0
"""What each format says of a session, by the fields that its documentation has. Its real readers: tests/integration."""

import csv
import io
import json
import re
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pytest

from steelyard.errors import NothingMeasuredError, SelectionError
from steelyard.judge.ledger import ledger
from steelyard.show import formats
from tests.making import a_case, a_header, a_session, counted
from tests.unit.show.formats.sessions import COST_CASE, HOSTILE, LATE, RATE_CASE, SIZE_CASE, exported, hostile, mixed

NAMES = list(formats.exporters())
COSTS = [1e-6 * (1 + block / 100 + 0.75 / 1000) for block in range(1, 7)]  # the lower quartile of four values


def test_every_format_is_found_by_its_file_and_says_what_it_is():
    assert {"pyperf", "google-benchmark", "hyperfine", "openmetrics", "bencher", "benchstat", "junit", "csv"} <= set(
        NAMES
    )
    assert {"parquet", "markdown", "github-smaller-is-better", "github-bigger-is-better"} <= set(NAMES)
    assert all(len(text) > 10 for text in formats.exporters().values())


def test_the_page_of_the_reference_has_every_format():
    page = formats.page()
    assert all(f"\n## {name}\n" in page for name in NAMES)
    readers = [module for module in formats.modules().values() if hasattr(module, "recognises")]
    assert page.count("`steelyard import`") == len(readers) >= 3
    assert all(module.TOOL in formats.importers() for module in readers)


@pytest.mark.parametrize("name", NAMES)
def test_a_session_without_results_is_refused(name):
    with pytest.raises(NothingMeasuredError, match="no results"):
        formats.export(ledger(a_session(header=a_header(a_case()))), name)


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_session_is_written_with_a_word(name):
    session = msgspec.structs.replace(mixed(), end=None)
    assert any("not complete" in doubt for doubt in formats.export(ledger(session), name).doubts)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "github-bigger-is-better"])  # it has costs only
def test_a_hostile_session_is_written_with_all_its_cases(name):
    assert formats.export(ledger(hostile()), name).doubts == ()


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("pyperf", [RATE_CASE]),
        ("google-benchmark", []),
        ("hyperfine", [RATE_CASE, SIZE_CASE]),
        ("openmetrics", []),
        ("bencher", []),
        ("github-smaller-is-better", [RATE_CASE]),
        ("github-bigger-is-better", [COST_CASE, SIZE_CASE]),
        ("benchstat", []),
        ("csv", []),
        ("parquet", []),
        ("junit", []),
        ("markdown", []),
        ("hdr", [RATE_CASE, SIZE_CASE]),
        ("spare-cores", []),
    ],
)
def test_what_a_format_cannot_hold_is_left_out_with_a_word(name, left_out):
    doubts = formats.export(ledger(mixed()), name).doubts
    assert [doubt.split(" is left out: ")[0] for doubt in doubts] == [case.name for case in left_out]


def test_nothing_that_fits_is_an_error_that_says_why():
    session = mixed()
    kept = tuple(planned for planned in session.plan.cases if planned.case == RATE_CASE)
    rates = msgspec.structs.replace(session, plan=msgspec.structs.replace(session.plan, cases=kept))
    with pytest.raises(SelectionError, match="pyperf knows costs in seconds and bytes"):
        formats.export(ledger(rates), "pyperf")


def test_pyperf_has_every_value_of_every_process():
    data = json.loads(exported(mixed(), "pyperf"))
    benchmark = data["benchmarks"][0]
    assert benchmark["metadata"]["name"] == COST_CASE.name
    assert benchmark["metadata"]["unit"] == "second"
    assert len(benchmark["runs"]) == 6
    assert benchmark["runs"][0]["values"] == pytest.approx([1e-6 * (1.01 + n / 1000) for n in range(4)])
    assert benchmark["runs"][0]["metadata"]["loops"] == 1000
    assert data["benchmarks"][1]["metadata"]["unit"] == "byte"


def test_google_benchmark_has_the_fields_that_its_tools_read():
    data = json.loads(exported(mixed(), "google-benchmark"))
    assert {"date", "host_name", "executable", "num_cpus", "library_build_type", "json_schema_version"} <= set(
        data["context"]
    )
    for line in data["benchmarks"]:
        assert {"name", "run_name", "run_type", "repetitions", "threads", "iterations", "family_index"} <= set(line)
        assert isinstance(line["real_time"], float)
        assert isinstance(line["cpu_time"], float)
        assert line["time_unit"] in {"ns", "us", "ms", "s"}
        assert ("repetition_index" in line) == (line["run_type"] == "iteration")
        assert ("aggregate_name" in line) == (line["run_type"] == "aggregate")
    cost = [line for line in data["benchmarks"] if line["run_name"] == COST_CASE.name]
    assert [line["real_time"] for line in cost if line["run_type"] == "iteration"] == pytest.approx(
        [cost * 1e6 for cost in COSTS]
    )
    assert cost[0]["cpu_time"] == pytest.approx(0.9 * cost[0]["real_time"], rel=1e-3)
    assert [line["aggregate_name"] for line in cost if line["run_type"] == "aggregate"] == ["mean", "median", "stddev"]


def test_google_benchmark_has_a_rate_as_a_counter_beside_its_time():
    data = json.loads(exported(mixed(), "google-benchmark"))
    first = next(line for line in data["benchmarks"] if line["run_name"] == RATE_CASE.name)
    assert first["bytes_per_second"] == pytest.approx(4096 / (first["real_time"] * 1e-6), rel=1e-3)
    assert first["message"] == pytest.approx(first["real_time"] * 1e-6)
    assert first["lost"] == pytest.approx(0.001)


def test_hyperfine_has_the_fields_of_its_own_export():
    [result] = json.loads(exported(mixed(), "hyperfine"))["results"]
    assert set(result) == {
        *("command", "mean", "stddev", "median", "user", "system", "min", "max"),
        *("times", "memory_usage_byte", "exit_codes", "parameters"),
    }
    assert result["command"] == COST_CASE.name
    assert result["times"] == pytest.approx(COSTS)
    assert result["mean"] == pytest.approx(np.mean(COSTS))
    assert result["stddev"] == pytest.approx(np.std(COSTS, ddof=1))
    assert (result["min"], result["max"]) == pytest.approx((min(COSTS), max(COSTS)))
    assert result["exit_codes"] == [0] * 6
    assert result["parameters"] == {"depth": "3", "kind": "near"}


def test_bencher_has_latency_in_nanoseconds_with_its_bounds():
    data = json.loads(exported(mixed(), "bencher"))
    median = float(np.median(COSTS))
    assert data[COST_CASE.name] == {
        "latency": {
            "value": pytest.approx(median * 1e9),
            "lower_value": pytest.approx(min(COSTS) * 1e9),
            "upper_value": pytest.approx(max(COSTS) * 1e9),
        }
    }
    assert set(data[RATE_CASE.name]) == {"bandwidth", "message", "memory", "lost"}


def test_the_github_action_gets_each_direction_in_a_file_of_its_own():
    [cost, size] = json.loads(exported(mixed(), "github-smaller-is-better"))
    [rate] = json.loads(exported(mixed(), "github-bigger-is-better"))
    assert (cost["name"], cost["unit"], cost["value"]) == (COST_CASE.name, "ns", pytest.approx(np.median(COSTS) * 1e9))
    assert (size["unit"], rate["unit"], rate["name"]) == ("B", "B/s", RATE_CASE.name)
    for item in (cost, size, rate):
        assert set(item) == {"name", "unit", "value", "range", "extra"}
        assert item["range"].startswith("± ")


def test_benchstat_has_a_line_a_run_and_keeps_parts_apart():
    lines = exported(mixed(), "benchstat").splitlines()
    name = "BenchmarkCall/way=direct/depth=3/kind=near/placement=same-2"
    cost = [line.split() for line in lines if line.startswith(name)]
    assert [(float(line[2]), line[1], line[3]) for line in cost] == [
        (pytest.approx(each), "1000", "sec/op") for each in COSTS
    ]
    rate = next(line.split() for line in lines if line.startswith("BenchmarkMessage"))
    assert rate[3::2] == ["B/s", "sec/message", "B/memory", "lost"]
    assert "Unit sec/op better=lower" in lines
    assert "Unit B/s better=higher" in lines


def test_no_hostile_name_breaks_a_line_of_benchstat():
    lines = exported(hostile(), "benchstat").splitlines()
    results = [line for line in lines if not re.match(r"(pkg|cpu): |Unit ", line)]
    assert len(results) == 6 * len(HOSTILE)
    assert len({line.split()[0] for line in results}) == len(HOSTILE)
    for line in results:
        assert re.fullmatch(r"Benchmark[^a-z\s][^\s]*-2 \d+ [\d.e-]+ sec/op", line), line


def test_csv_is_tidy_one_row_a_run_and_metric_with_controls_marked():
    rows = list(csv.DictReader(io.StringIO(exported(mixed(), "csv"))))
    main = [row for row in rows if row["main"] == "true"]
    assert len(main) == 6 * 4
    assert len(rows) == 6 * (1 + 4 + 1 + 1)
    assert {row["control"] for row in rows if row["case"].startswith("null/")} == {"true"}
    cost = [float(row["value"]) for row in main if row["case"] == COST_CASE.name]
    assert cost == pytest.approx(COSTS)
    assert json.loads(main[0]["parameters"]) == {"depth": 3, "kind": "near"}


def with_counters():
    """The session, in which the processor counted one case."""
    session = mixed()
    runs = [
        msgspec.structs.replace(
            run, values=tuple(msgspec.structs.replace(v, counters=counted(500, cycles=2000)) for v in run.values)
        )
        if run.case == COST_CASE.name
        else run
        for run in session.runs
    ]
    return msgspec.structs.replace(session, runs=tuple(runs))


def test_what_the_processor_counted_is_written_where_there_is_a_place_for_it():
    session = with_counters()
    rows = csv.DictReader(io.StringIO(exported(session, "csv")))
    assert {row["value"] for row in rows if row["metric"] == "cycles"} == {"4.0"}
    assert re.search(r"^BenchmarkCall\S+ \d+ \S+ sec/op 4\.0 cycles$", exported(session, "benchstat"), re.MULTILINE)
    [first, *_] = json.loads(exported(session, "google-benchmark"))["benchmarks"]
    assert first["cycles"] == 4
    assert json.loads(exported(session, "bencher"))[COST_CASE.name]["cycles"]["value"] == 4
    assert re.search(r'^steelyard_case_median_ratio\{.*metric="cycles"\} 4\.0$', exported(session, "openmetrics"), re.M)


def test_hostile_names_come_back_from_csv_as_they_were():
    rows = csv.DictReader(io.StringIO(exported(hostile(), "csv"), newline=""))
    assert {row["variant"] for row in rows} == set(HOSTILE)


def test_junit_has_failures_skips_and_figures():
    suite = ET.fromstring(exported(mixed(), "junit"))
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("4", "1", "0")
    tests = {test.attrib["name"]: test for test in suite.iter("testcase")}
    assert tests["call/broken@same"].find("failure").attrib["message"] == "exited with code 1"
    assert "µs" in tests[COST_CASE.name].find("system-out").text


def test_junit_of_hostile_names_is_xml():
    suite = ET.fromstring(exported(hostile(), "junit"))
    assert len(list(suite.iter("testcase"))) == len(HOSTILE)


def test_markdown_has_a_row_a_case_whatever_the_names_are():
    rows = [line for line in exported(hostile(), "markdown").splitlines() if line.startswith("| `")]
    assert len(rows) == len(HOSTILE)
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)


@pytest.fixture
def decode():
    """HdrHistogram's own reader."""
    return pytest.importorskip("hdrh.histogram").HdrHistogram.decode


def test_an_hdr_log_has_every_number_of_every_run_and_names_its_case(decode):
    lines = exported(mixed(), "hdr").splitlines()
    head = [line for line in lines if line.startswith(("#", '"'))]
    assert head[0] == "#[Histogram log format version 1.3]"
    assert head[-1] == '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    assert len(lines) - len(head) == 6
    for line in lines[len(head) :]:
        tag, _, _, most_ms, word = line.split(",")
        assert tag == f"Tag={COST_CASE.name.replace(',', ';')}_late"
        assert float(most_ms) == pytest.approx(2**40 / 1e6)
        assert word.startswith("HISTFAAA")
        found = decode(word)
        assert (found.get_total_count(), found.get_min_value(), found.significant_figures) == (1047, 0, 2)
        assert found.get_max_value() == found.get_highest_equivalent_value(2**40)
        by_least = {item.value_iterated_to: item.count_at_value_iterated_to for item in found.get_recorded_iterator()}
        expected = {found.get_highest_equivalent_value(number): times for number, times in LATE.buckets}
        assert by_least == expected


def test_hdr_logs_of_several_runs_are_merged_by_their_library(decode):
    words = [line.split(",")[-1] for line in exported(mixed(), "hdr").splitlines() if line.startswith("Tag=")]
    merged = decode(words[0])
    for word in words[1:]:
        merged.add(decode(word))
    assert merged.get_total_count() == 6 * 1047
    assert merged.get_value_at_percentile(50) == merged.get_highest_equivalent_value(52992)


def test_a_void_session_says_so_wherever_it_goes():
    session = mixed()
    moved = tuple(
        msgspec.structs.replace(run, role="sentinel", block=block, values=(value,))
        for block, factor in ((0, 1), (6, 3))
        for run in session.runs
        if run.case.startswith("null/") and run.block == 1
        for value in [msgspec.structs.replace(run.values[0], wall_ns=factor * run.values[0].wall_ns)]
    )
    void = msgspec.structs.replace(session, runs=(*session.runs, *moved))
    assert ledger(void).findings.void is not None
    assert all("VOID" in formats.export(ledger(void), name).doubts[-1] for name in NAMES)
    assert "steelyard_session_void 1\n" in exported(void, "openmetrics")
    assert "**VOID" in exported(void, "markdown")
    assert ET.fromstring(exported(void, "junit")).attrib["errors"] == "1"
    assert "VOID" in json.loads(exported(void, "github-smaller-is-better"))[0]["extra"]
    assert "\nvoid: " in exported(void, "benchstat")
    assert json.loads(exported(void, "pyperf"))["metadata"]["steelyard_void"] != "no"
    assert json.loads(exported(void, "google-benchmark"))["context"]["steelyard_void"] != "no"
