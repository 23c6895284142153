# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import warnings

import pytest

import steelyard
from steelyard import frames
from steelyard.errors import InstallationError, SelectionError, SessionFileError, UsageError
from steelyard.judge.comparisons import compare_sessions
from steelyard.judge.findings import judge
from steelyard.judge.samples import case_runs
from steelyard.keep.session import read
from tests.many import WHOLE, a_history

CASE = "example/swept[n=10,kind=thread]@same"
LIBRARIES = ("pandas", "polars", "pyarrow")


def needs(*names):
    """Skips without what is optional on a person's machine; where everything must be there, that is a failure."""
    for name in names:
        if not os.environ.get("CI"):
            pytest.importorskip(name)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return a_history(tmp_path_factory.mktemp("frames"))


def test_what_was_loaded_is_one_short_line_in_a_notebook(paths):
    needs("narwhals", "pandas")
    said = repr(steelyard.load(paths[0].parent, frames="pandas"))
    assert "12 sessions" in said
    assert len(said) < 120


@pytest.fixture(params=LIBRARIES)
def loaded(request, paths):
    needs("narwhals", request.param)
    return steelyard.load(paths[0].parent, frames=request.param)


def rows(frame):
    """The rows of a frame of any library, null for what is missing."""
    import narwhals as nw

    found = nw.from_native(frame).rows(named=True)
    return [
        {name: None if value is None or value != value else value for name, value in row.items()}  # NaN of pandas
        for row in found
    ]


def test_a_frame_is_of_the_library_that_was_asked_for(loaded):
    assert type(loaded.runs()).__module__.startswith(loaded.library)


def test_the_summary_has_the_figures_of_the_judge(loaded):
    there = {(row["session"], row["case"]): row for row in rows(loaded.summary())}
    found = {(n, case.case): case.main for n, one in enumerate(loaded.findings) for case in one.cases}
    assert there.keys() == found.keys()
    for key, main in found.items():
        row = there[key]
        for name in ("median", "low", "high", "minimum", "p25", "p99", "n", "unit"):
            assert row[name] == getattr(main, name)
        assert (row["net"], row["net_high"]) == ((main.net.median, main.net.high) if main.net else (None, None))


def test_runs_are_one_number_a_block(loaded):
    session = loaded.sessions[0]
    expected = {
        (runs.planned.case.name, block): number
        for runs in case_runs(session)
        for block, number in enumerate(runs.sample(runs.descriptor.metrics[0]).tolist(), 1)
        if number == number
    }
    found = {(row["case"], row["block"]): row["number"] for row in rows(loaded.runs()) if row["session"] == 0}
    assert found == expected


def test_parameters_are_columns(loaded):
    [row] = [row for row in rows(loaded.summary()) if row["case"] == CASE and row["session"] == 0]
    assert row["kind"] == "thread"
    assert row["parameter_n"] == 10  # n is the number of runs


def test_two_sessions_compare_as_the_command_compares_them(loaded):
    expected = compare_sessions(loaded.sessions[0], loaded.sessions[9], margin=0.02)
    found = rows(loaded.comparison(0, 9))
    assert [(row["case"], row["ratio"], row["verdict"], row["worse"]) for row in found] == [
        (case.case, case.ratio, case.verdict, case.worse) for case in expected.cases
    ]
    assert {row["verdict"] for row in found} == {"different"}


def test_two_cases_of_a_session_compare_block_by_block(loaded):
    [row] = rows(loaded.comparison("example/swept[n=1,kind=thread]", CASE, margin=0.1))
    assert (row["case"], row["verdict"], row["margin"]) == (CASE, "different", 0.1)


def test_a_history_has_its_change(loaded):
    found = rows(loaded.history(CASE))
    assert [row["change"] for row in found] == [number == 6 for number in range(12)]
    assert found[6]["differences"] == "kernel: 6.1 → 6.12"
    assert len({row["level"] for row in found[:6]}) == len({row["level"] for row in found[6:]}) == 1


def test_a_query_is_a_frame(loaded):
    found = rows(loaded.query("SELECT kernel, count(*) AS n FROM sessions GROUP BY ALL ORDER BY ALL"))
    assert found == [{"kernel": "6.1", "n": 6}, {"kernel": "6.12", "n": 6}]


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda found: found.comparison(0, 99), SelectionError),
        (lambda found: found.comparison(0, CASE), UsageError),
        (lambda found: found.comparison(CASE, "no/body"), SelectionError),
        (lambda found: found.history("no/body"), SelectionError),
        (lambda found: found.history("example/swept"), SelectionError),
        (lambda found: found.query("DROP VIEW cases"), UsageError),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(ask, error, paths):
    needs("narwhals", "pandas")
    with pytest.raises(error):
        ask(steelyard.load(paths[0].parent))


def test_a_malformed_file_is_a_warning_that_names_it_and_no_file_is_an_error(tmp_path):
    needs("narwhals", "pandas")
    paths = a_history(tmp_path, 2)
    paths[0].write_text("broken\n")
    with pytest.warns(UserWarning, match="00000.session.jsonl:1"):
        assert len(steelyard.load(tmp_path).sessions) == 1
    paths[1].write_text("broken\n")
    with warnings.catch_warnings(action="ignore"), pytest.raises(SessionFileError, match="none of the 2"):
        steelyard.load(tmp_path)


def test_without_a_library_of_frames_it_is_said_which(monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda _: None)
    with pytest.raises(InstallationError, match=r"steelyard\[frames\]"):
        steelyard.load(WHOLE)


def test_an_unknown_library_is_refused():
    with pytest.raises(UsageError, match='not "excel"'):
        steelyard.load(WHOLE, frames="excel")


def test_charts_are_those_of_the_report():
    needs("narwhals", "pandas", "altair")
    from steelyard.judge.report import report
    from steelyard.show import charts

    found = steelyard.load(WHOLE).charts()
    expected = charts.files(report([read(WHOLE)]))
    assert list(found) == list(expected)
    for name, chart in found.items():
        assert json.loads(chart.to_json())["layer" if "layer" in expected[name] else "mark"]


def test_findings_are_judged_once():
    needs("narwhals", "pandas")
    found = steelyard.load(WHOLE)
    assert found.findings is found.findings
    assert found.findings == (judge(read(WHOLE)),)


def test_the_package_is_imported_without_what_only_frames_need():
    code = "import steelyard, sys; assert not {'pandas', 'narwhals', 'duckdb', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
