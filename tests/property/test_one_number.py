# SPDX-License-Identifier: Apache-2.0
"""Which number stands for a run is decided once: all that shows or writes numbers has the same ones, and as many."""

import csv
import io
import json
import math
import re
import tempfile
from collections import defaultdict
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard
from steelyard.judge.findings import judge
from steelyard.judge.ledger import ledger
from steelyard.judge.stats.summary import quantile
from steelyard.keep.session import SUFFIX, read
from steelyard.lab.many import history_of, open_places
from steelyard.show import formats
from steelyard.show import session as shown_session
from tests.long import LONG
from tests.making import a_case, a_descriptor, a_failed_run, a_header, a_metric, a_run, a_session, a_value
from tests.many import lines_of, write

SHAPES = {
    "flat": [1.0] * 20,
    "warm-up": [3.0] * 12 + [1.0] * 8,
    "slowdown": [1.0] * 12 + [1.5] * 8,
    "never steady": [1.0] * 16 + [3.0] * 4,
    "uneven": [1.0, 4.0, 2.0, 3.0, 5.0],
    "short": [3.0, 1.0],
    "one": [2.0],
}
FATES = [
    "counts",
    "counts",
    "counts",
    "missing",
    "failed",
    "failed, then counts",
    "disturbed, then counts",
    "disturbed",
]
METRICS = {
    "operation": a_metric(),
    "per_switch": a_metric("per_switch", per="switches"),
    "rate": a_metric("rate", unit="1/s", better="higher", over="operations", per="wall"),
    "cpu": a_metric("cpu", over="cpu"),
}


@st.composite
def runs_of(draw, case):
    """The runs of a case: each block with its fate, each run with its shape."""
    made = [a_run(case, 0, role="pilot")] if draw(st.booleans()) else []
    for block in range(1, draw(st.integers(1, 9)) + 1):
        fate = draw(st.sampled_from(FATES))
        for attempt, what in enumerate(fate.split(", then "), start=1):
            if what == "missing":
                continue
            if what == "failed":
                made.append(a_failed_run(case, block, attempt=attempt))
                continue
            level = 1e-6 * draw(st.integers(100, 130)) / 100
            shape = SHAPES[draw(st.sampled_from(sorted(SHAPES)))]
            switches = draw(st.sampled_from([0, 500, 1000]))
            values = tuple(
                a_value(level * part, cpu_ns=round(700 * part), counts={"checked": 1000, "switches": switches})
                for part in shape
            )
            more = {"disturbed": ("others",), "foreign_share": draw(st.floats(0.2, 0.9))} if what == "disturbed" else {}
            made.append(a_run(case, block, attempt=attempt, values=values, **more))
    return made


@st.composite
def sessions(draw):
    """A session of two probes with their own statistic, metrics, and way to a steady state."""
    probes, runs = [], []
    cases = (a_case("call/one"), a_case("lock/two", n=2))
    for case in cases:
        names = draw(st.lists(st.sampled_from(sorted(METRICS)), min_size=1, max_size=3, unique=True))
        probes.append(
            a_descriptor(
                case.probe,
                statistic=draw(st.sampled_from(["lower_quartile", "median"])),
                warms_up=draw(st.booleans()),
                metrics=tuple(METRICS[name] for name in names),
            )
        )
        runs += draw(runs_of(case))
    header = a_header(*cases, probes=tuple(probes), blocks=9)
    return a_session(*runs, header=header)


def close(one, other):
    return one == other or (one is not None and other is not None and one == pytest.approx(other, rel=1e-12))


# --- the numbers that each way of showing has: by case, those of its runs ---------------------------------------------


def of_rows(rows):
    found = defaultdict(list)
    for row in rows:
        if row["main"] in (True, "True", "true"):
            found[row["case"]].append(float(row["value"]))
    return found


def of_csv(contents):
    return of_rows(csv.DictReader(io.StringIO(contents)))


def of_parquet(contents):
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        file.write(contents)
        file.flush()
        table = duckdb.read_parquet(file.name)
        return of_rows(dict(zip(table.columns, row, strict=True)) for row in table.fetchall())


def of_pyperf(contents):
    found = {}
    for benchmark in json.loads(contents)["benchmarks"]:
        share = 0.25 if benchmark["metadata"]["steelyard_statistic"] == "lower_quartile" else 0.5
        found[benchmark["metadata"]["name"]] = [np.quantile(run["values"], share) for run in benchmark["runs"]]
    return found


def of_hyperfine(contents):
    return {result["command"]: result["times"] for result in json.loads(contents)["results"]}


def repetitions(contents):
    return [line for line in json.loads(contents)["benchmarks"] if line["run_type"] == "iteration"]


def of_google_benchmark(contents):
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    found = defaultdict(list)
    for line in repetitions(contents):
        found[line["name"]].append(line["real_time"] * units[line["time_unit"]])
    return found


def of_benchstat(contents):
    found = defaultdict(list)
    for line in contents.splitlines():
        if line.startswith("Benchmark"):
            name, _, number, *_ = line.split()
            found["call/one@same" if name.startswith("BenchmarkCall") else "lock/two[n=2]@same"].append(float(number))
    return found


RUNS_OF = {
    "csv": of_csv,
    "parquet": of_parquet,
    "pyperf": of_pyperf,
    "hyperfine": of_hyperfine,
    "google-benchmark": of_google_benchmark,
    "benchstat": of_benchstat,
}


def medians_of_github(contents):
    return {item["name"]: item["value"] / (1e9 if item["unit"] == "ns" else 1.0) for item in json.loads(contents)}


def medians_of_bencher(contents):
    made = {name: next(reversed(measures.items())) for name, measures in json.loads(contents).items()}
    return {name: one["value"] / (1e9 if measure == "latency" else 1.0) for name, (measure, one) in made.items()}


MEDIANS_OF = {
    "bencher": medians_of_bencher,
    "github-smaller-is-better": medians_of_github,
    "github-bigger-is-better": medians_of_github,
}


def written(session, name):
    try:
        return formats.export(ledger(session), name).contents
    except (steelyard.errors.SelectionError, steelyard.errors.NothingMeasuredError):
        return None


@settings(max_examples=400 if LONG else 40)
@given(sessions())
def test_every_way_of_showing_has_the_numbers_of_show(session):
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / f"a{SUFFIX}", lines_of(session))
        findings = judge(read(path))
        shown = {case["case"]: case for case in shown_session.as_json(findings)}
        summaries = {
            name: (case["n"], *(case[key] for key in ("median", "low", "high"))) for name, case in shown.items()
        }
        with open_places([path], print) as opened:
            rows = opened.ask("SELECT case_name, n, median, low, high FROM cases").rows
            by_block = opened.ask("SELECT case_name, block, number FROM runs WHERE counts AND isfinite(number)").rows
            by_metric = opened.ask(
                "SELECT case_name, block, number FROM figures WHERE counts AND main AND isfinite(number)"
            ).rows
        histories = {
            name: series.sessions[0] for name in shown for series in history_of(name, [path], 0.02, print).series
        }
        loaded = steelyard.load(path, frames="pyarrow")
        framed = loaded.runs().to_pylist()
        frame = {row["case"]: row for row in loaded.summary().to_pylist()}

    # The numbers of the runs, of which the summaries are made.
    expected = {
        entry.case.name: [run.numbers[entry.main.name] for run in entry.runs] for entry in ledger(session).cases
    }
    assert {name: len(numbers) for name, numbers in expected.items()} == {name: s[0] for name, s in summaries.items()}
    assert all(close(float(np.median(numbers)), summaries[name][1]) for name, numbers in expected.items())
    for found in (by_block, by_metric, [(row["case"], row["block"], row["number"]) for row in framed]):
        there = defaultdict(list)
        for name, _, number in sorted(found):
            there[name].append(number)
        assert there == {name: pytest.approx(numbers, rel=1e-12) for name, numbers in expected.items()}

    # The summaries.
    assert {row[0] for row in rows} == set(histories) == set(frame) == set(summaries)
    for name, *row in rows:
        assert all(map(close, row, summaries[name]))
    for name, past in histories.items():
        assert all(map(close, (past.n, past.median, past.low, past.high), summaries[name]))
    for name, row in frame.items():
        assert all(map(close, (row["n"], row["median"], row["low"], row["high"]), summaries[name]))

    # What is exported: a format may leave cases out, but has no other numbers, and no fewer.
    for name, runs_in in RUNS_OF.items():
        if (contents := written(session, name)) is not None:
            for case, found in runs_in(contents).items():
                written_numbers = found
                # Of a rate google/benchmark has the time of an operation, and the rate beside it.
                if name == "google-benchmark" and shown[case]["unit"] != "s":
                    written_numbers = [line["rate"] for line in repetitions(contents) if line["name"] == case]
                assert written_numbers == pytest.approx(expected[case], rel=1e-9), name
    for name, medians_in in MEDIANS_OF.items():
        if (contents := written(session, name)) is not None:
            assert all(close(one, summaries[case][1]) for case, one in medians_in(contents).items()), name
    for name in ("markdown", "junit", "openmetrics"):
        if (contents := written(session, name)) is not None:
            for case, (n, *_) in summaries.items():
                part = contents[contents.index(case) :].partition("</testcase>" if name == "junit" else "\n")[0]
                if name == "openmetrics":
                    assert re.search(rf'steelyard_case_runs{{case="{re.escape(case)}",.*}} {n}\n', contents)
                else:
                    assert (f", {n} runs" if name == "junit" else f" | {n} |") in part


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=30), st.sampled_from([0.25, 0.5, 0.75, 0.99]))
def test_a_quantile_is_that_of_numpy_to_the_last_bit(numbers, share):
    assert quantile(sorted(numbers), share) == np.quantile(numbers, share)


def test_of_a_probe_that_warms_up_only_the_steady_state_counts_everywhere(tmp_path):
    case = a_case("call/one")
    header = a_header(case, probes=(a_descriptor(case.probe, warms_up=True),))
    runs = [a_run(case, block, *(1e-6 * part for part in SHAPES["warm-up"])) for block in range(1, 7)]
    runs.append(a_run(case, 7, *(1e-6 * part for part in SHAPES["never steady"])))
    path = write(tmp_path / f"a{SUFFIX}", lines_of(a_session(*runs, header=header)))
    with open_places([path], print) as opened:
        [(n, median, mean)] = opened.ask(
            "SELECT n, median, (SELECT avg(number) FROM runs WHERE counts AND isfinite(number)) FROM cases"
        ).rows
    assert (n, median, mean) == (6, pytest.approx(1e-6), pytest.approx(1e-6))
    [entry] = ledger(read(path)).cases
    assert [run.numbers["operation"] for run in entry.runs] == pytest.approx([1e-6] * 6)
    assert all(len(run.values) == 8 for run in entry.runs)
    assert math.isclose(judge(read(path)).cases[0].main.median, median)
