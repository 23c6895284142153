# SPDX-License-Identifier: Apache-2.0
"""`export` and `import` as a person uses them; each format is read by its real reader where that can be installed."""

import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.__main__ import main
from steelyard.judge import comparisons
from steelyard.judge.ledger import ledger
from steelyard.keep import imported
from steelyard.keep import session as sessions
from steelyard.records import Session
from steelyard.show import formats, reasons
from tests import processes
from tests.unit.show.formats.sessions import COST_CASE, HOSTILE, RATE_CASE, costing, exported, hostile, mixed

ROOT = Path(__file__).parents[2]
WHOLE = ROOT / "tests/golden/whole.session.jsonl"
BENCHSTAT = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da"
ROUND_TRIPS = ("pyperf", "google-benchmark", "hyperfine")


def said(*arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def ran(*command: object, **more: object) -> str:
    """Standard output of a reader that must be content."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def noise(seed: int, centre: float, runs: int = 20, spread: float = 0.01) -> list[float]:
    """The runs of a case."""
    return [float(x) for x in centre * np.exp(spread * np.random.default_rng(seed).standard_normal(runs))]


# Of three cases one became slower, one stayed, and one says nothing.
BEFORE = costing({"x/slow": noise(1, 1e-8), "x/same": noise(2, 2e-6), "x/wild": noise(3, 1e-3, spread=0.4)}, "before")
AFTER = costing({"x/slow": noise(4, 1.3e-8), "x/same": noise(5, 2e-6), "x/wild": noise(6, 1e-3, spread=0.4)}, "after")
VERDICTS = {"x/slow@same": "different", "x/same@same": "equivalent", "x/wild@same": "undecided"}


@pytest.fixture
def written(tmp_path):
    """Writes the same two sessions in a format."""

    def write(name: str, *kept: Session) -> list[Path]:
        paths = []
        for number, session in enumerate(kept or (BEFORE, AFTER)):
            path = tmp_path / f"{'ab'[number]}.{name}.json"
            contents = formats.export(ledger(session), name).contents
            path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
            paths.append(path)
        return paths

    return write


def needed(module: str) -> ModuleType:
    """A reader that is a Python module."""
    try:
        return importlib.import_module(module)
    except ImportError:
        processes.missing(f"the Python module {module} is not installed")


# --- the real readers -------------------------------------------------------------------------------------------------


def test_pyperf_reads_and_compares_what_is_written_for_it(written):
    needed("pyperf")
    table = ran(sys.executable, "-m", "pyperf", "compare_to", *written("pyperf"), "--table")
    [slow] = [line for line in table.splitlines() if "x/slow@same" in line]
    assert "slower" in slow
    assert "x/same@same" not in table.split("not significant")[0]
    metadata = ran(sys.executable, "-m", "pyperf", "metadata", written("pyperf", mixed())[0])
    assert "Example CPU" in metadata


def test_pyperf_reads_hostile_names(written):
    needed("pyperf")
    import_only = written("pyperf", visibly_hostile())[0]
    shown = json.loads(ran(sys.executable, "-c", PYPERF_NAMES, import_only))
    assert len(shown) == len(HOSTILE)


PYPERF_NAMES = (
    "import json,pyperf,sys; print(json.dumps(pyperf.BenchmarkSuite.load(sys.argv[1]).get_benchmark_names()))"
)


def visibly_hostile() -> Session:
    """A session of hostile names as an import leaves them: its control characters are written out."""
    results = {"results": [{"command": name, "times": [1.0, 1.1]} for name in HOSTILE]}
    contents = json.dumps(results).encode()
    header, lines = imported.lines(formats.read(contents, "file.json"), contents, "2026-01-02T03:04:05+00:00", {})
    return sessions.decode(b"".join(msgspec.json.encode(line) + b"\n" for line in (header, *lines)), "file")


@pytest.fixture(scope="module")
def benchstat():
    """Built once from the module proxy, and kept beside what else is built."""
    folder = ROOT / "build" / "tools"
    if not (folder / "benchstat").exists():
        go = processes.tool("go")
        environment = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-modcacherw"}
        done = subprocess.run([go, "install", BENCHSTAT], env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            processes.missing(f"benchstat cannot be built: {done.stderr.strip().splitlines()[-1]}")
    return folder / "benchstat"


def test_benchstat_reads_and_compares_what_is_written_for_it(written, benchstat):
    table = ran(benchstat, *written("benchstat"))
    [slow] = [line for line in table.splitlines() if line.startswith("X/way=slow/placement=same-2")]
    assert "p=0.000 n=20" in slow
    assert "+3" in slow or "+2" in slow
    [same] = [line for line in table.splitlines() if line.startswith("X/way=same")]
    assert "~" in same
    assert "geomean" in table


def test_benchstat_groups_by_the_parts_of_a_case_and_reads_every_metric(written, benchstat):
    table = ran(benchstat, "-format", "csv", "-col", "/way", written("benchstat", mixed())[0])
    assert {"sec/op", "B/s", "B/op", "sec/message", "B/memory", "lost"} <= set(table.replace("\n", ",").split(","))


def test_benchstat_reads_hostile_names(written, benchstat):
    done = subprocess.run(
        [benchstat, "-format", "csv", written("benchstat", hostile())[0]], capture_output=True, text=True, check=True
    )
    rows = [line for line in done.stdout.splitlines() if line.startswith(("X/", '"X/'))]
    assert len(rows) == len(HOSTILE)
    assert "syntax" not in done.stderr.lower()
    assert "parsing" not in done.stderr


def test_compare_py_of_google_benchmark_reads_and_compares_what_is_written_for_it(written):
    program = Path("/usr/share/benchmark/compare.py")
    if not program.exists():
        processes.missing("compare.py is not installed (Debian: apt-get install libbenchmark-tools)")
    table = ran(sys.executable, program, "--no-color", "benchmarks", *written("google-benchmark")).splitlines()
    p_values = {line.split()[0]: float(line.split()[1]) for line in table if "_pvalue" in line}
    assert p_values["x/slow@same_pvalue"] < 0.001
    assert p_values["x/same@same_pvalue"] > 0.05
    [change] = [float(line.split()[1]) for line in table if line.startswith("x/slow@same_median")]
    assert change == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("session", [mixed(), hostile()], ids=["mixed", "hostile"])
def test_promtool_is_content_with_the_metrics(session):
    ran(processes.tool("promtool"), "check", "metrics", input=exported(session, "openmetrics"))


@pytest.mark.parametrize("session", [mixed(), hostile()], ids=["mixed", "hostile"])
def test_openmetrics_is_read_by_the_reference_parser_with_every_name_as_it_was(session):
    parser = needed("prometheus_client.openmetrics.parser")
    families = {f.name: f for f in parser.text_string_to_metric_families(exported(session, "openmetrics"))}
    names = {sample.labels["case"] for sample in families["steelyard_case_runs"].samples}
    assert names == {entry.case.name for entry in session.plan.cases} - {"call/broken@same", *CONTROLS}
    assert families["steelyard_case_median_seconds"].unit == "seconds"
    assert all(family.type == "gauge" and family.documentation for family in families.values())


CONTROLS = {"null/null[delay_percent=0,copy=0]@same"}


def test_pandas_reads_the_same_numbers_from_csv_and_parquet(tmp_path):
    pandas = needed("pandas")
    needed("pyarrow")
    frames = {}
    for name in ("csv", "parquet"):
        contents = formats.export(ledger(mixed()), name).contents
        data = io.BytesIO(contents) if isinstance(contents, bytes) else io.StringIO(contents)
        frame = pandas.read_csv(data) if name == "csv" else pandas.read_parquet(data)
        frames[name] = frame
        assert frame["main"].dtype == frame["control"].dtype == bool
        assert frame["value"].dtype == np.float64
        cost = frame[frame.main & (frame.case == COST_CASE.name)]
        assert list(cost.value) == pytest.approx([1e-6 * (1 + block / 100 + 0.75 / 1000) for block in range(1, 7)])
    assert list(frames["csv"].columns) == list(frames["parquet"].columns)
    assert (frames["csv"].value == frames["parquet"].value).all()


def test_duckdb_reads_parquet_with_hostile_names_as_they_were(written):
    import duckdb

    [path] = written("parquet", hostile())
    found = duckdb.connect().execute(f"SELECT DISTINCT variant, void FROM read_parquet('{path}')").fetchall()
    assert {variant for variant, _ in found} == set(HOSTILE)
    assert {void for _, void in found} == {None}


@pytest.mark.parametrize("session", [mixed(), hostile()], ids=["mixed", "hostile"])
def test_junitparser_reads_the_suite(written, session):
    junitparser = needed("junitparser")
    [suite] = junitparser.JUnitXml.fromfile(str(written("junit", session)[0]))
    cases = list(suite)
    assert len(cases) == suite.tests
    assert sum(any(isinstance(r, junitparser.Failure) for r in case.result) for case in cases) == suite.failures


def test_bencher_holds_to_its_schema():
    for measures in json.loads(exported(hostile(), "bencher")).values():
        for slug, metric in measures.items():
            assert 0 < len(slug) <= 64
            assert set(metric) <= {"value", "lower_value", "upper_value"}
            assert all(isinstance(number, float) for number in metric.values())


# --- the real writers -------------------------------------------------------------------------------------------------


def test_what_hyperfine_writes_is_imported(tmp_path):
    path = tmp_path / "hyperfine.json"
    ran(processes.tool("hyperfine"), "-N", "-r", "6", "--export-json", path, "true", "-n", "a name", "false", "-i")
    file = formats.read(path.read_bytes(), str(path))
    assert (file.tool, [len(sample.runs) for sample in file.samples]) == ("hyperfine", [6, 6])
    assert said("import", path, "-o", tmp_path / "x.session.jsonl")[0] == 0


def test_what_pyperf_writes_is_imported(tmp_path):
    needed("pyperf")
    path = tmp_path / "pyperf.json"
    options = ["-p", "3", "-n", "2", "-w", "1", "--loops", "10", "-q", "-o", path]
    ran(sys.executable, "-m", "pyperf", "timeit", *options, "pass")
    file = formats.read(path.read_bytes(), str(path))
    assert (file.tool, len(file.samples[0].runs), file.samples[0].processes_known) == ("pyperf", 3, True)
    assert file.started is not None
    assert said("import", path, "-o", tmp_path / "x.session.jsonl")[0] == 0


# --- there and back ---------------------------------------------------------------------------------------------------


def there_and_back(session: Session, name: str) -> Session:
    """The session, exported and imported again."""
    contents = exported(session, name).encode()
    header, lines = imported.lines(formats.read(contents, session.path), contents, "2026-01-02T03:04:05+00:00", {})
    return sessions.decode(b"".join(msgspec.json.encode(line) + b"\n" for line in (header, *lines)), session.path)


def verdicts(found: comparisons.Comparisons) -> dict[str, tuple[str, float, float, float | None]]:
    """What was found of each case, to a millionth."""
    return {
        case.case: (case.verdict, *(None if x is None else round(x, 6) for x in (case.ratio, case.low, case.high)))
        for case in found.cases
    }


def test_the_sessions_of_the_round_trips_have_one_case_of_each_verdict():
    found = comparisons.compare_sessions(BEFORE, AFTER, margin=0.15)
    assert {case.case: case.verdict for case in found.cases} == VERDICTS


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_a_round_trip_keeps_the_verdict_and_its_interval(name):
    own = comparisons.compare_sessions(BEFORE, AFTER, margin=0.15)
    again = comparisons.compare_sessions(there_and_back(BEFORE, name), there_and_back(AFTER, name), margin=0.15)
    assert verdicts(again) == verdicts(own)


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_a_second_round_trip_changes_nothing_more(name):
    once = there_and_back(BEFORE, name)
    twice = there_and_back(once, name)
    assert [run.values[0].readings for run in once.runs] == [run.values[0].readings for run in twice.runs]
    assert [planned.case for planned in once.plan.cases] == [planned.case for planned in twice.plan.cases]


@given(
    st.lists(st.floats(0.5, 2.0), min_size=6, max_size=12),
    st.lists(st.floats(0.5, 2.0), min_size=6, max_size=12),
    st.sampled_from(ROUND_TRIPS),
    st.sampled_from([1e-9, 1e-3]),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_a_round_trip_keeps_the_verdict_of_any_two_samples(a, b, name, scale):
    before, after = (costing({"x/any": [scale * cost for cost in costs]}, "x") for costs in (a, b))
    own = comparisons.compare_sessions(before, after, margin=0.02)
    again = comparisons.compare_sessions(there_and_back(before, name), there_and_back(after, name), margin=0.02)
    assert verdicts(again) == verdicts(own)


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_the_command_line_gives_the_same_verdict_on_sessions_files_and_imports(tmp_path, name):
    for label, session in (("a", BEFORE), ("b", AFTER)):
        lines = [session.header, session.plan, *session.runs, session.end]
        (tmp_path / f"{label}.session.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        own = tmp_path / f"{label}.session.jsonl"
        assert said("export", own, "--format", name, "-o", tmp_path / f"{label}.json") == (0, "", "")
        code, out, err = said("import", tmp_path / f"{label}.json", "-o", tmp_path / f"{label}.again.session.jsonl")
        assert (code, out.strip(), err) == (0, str(tmp_path / f"{label}.again.session.jsonl"), "")
    for kind in ("session.jsonl", "json", "again.session.jsonl"):
        code, out, err = said("compare", tmp_path / f"a.{kind}", tmp_path / f"b.{kind}", "--margin", "15%", "--json")
        assert (code, err) == (0, "")
        assert {case["case"]: case["verdict"] for case in json.loads(out)} == VERDICTS


def test_google_benchmark_that_does_not_tell_its_processes_loses_certainty_and_says_so():
    files = []
    for session in (BEFORE, AFTER):
        data = json.loads(exported(session, "google-benchmark"))
        del data["context"]["steelyard_repetition"]
        files.append(formats.read(json.dumps(data).encode(), session.path))
    own = comparisons.compare_sessions(BEFORE, AFTER, margin=0.15)
    found = comparisons.compare_files(*files, margin=0.15)
    for wide, narrow in zip(found.cases, own.cases, strict=True):
        assert wide.high / wide.low > narrow.high / narrow.low
    assert {case.case: case.verdict for case in found.cases}["x/slow@same"] == "different"
    assert any("which process" in reasons.said(caveat) for caveat in found.caveats)


def test_a_rate_comes_back_from_google_benchmark_as_the_time_of_an_operation():
    again = there_and_back(mixed(), "google-benchmark")
    probe = again.header.probes[RATE_CASE.probe].descriptor
    assert (probe.metrics[0].unit, probe.metrics[0].better) == ("s", "lower")


# --- the commands -----------------------------------------------------------------------------------------------------


def test_help_lists_the_formats_that_are_files():
    code, out, _ = said("export", "--help")
    assert code == 0
    assert all(name in " ".join(out.split()) for name in formats.exporters())


def test_the_newest_session_goes_to_standard_output(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_SESSIONS", str(tmp_path))
    (tmp_path / "20260101T000000-x.session.jsonl").write_bytes(WHOLE.read_bytes())
    code, out, err = said("export", "--format", "csv")
    assert (code, err) == (0, "")
    assert out.startswith("session,")
    assert said("export", "--format", "csv", "-o", "-")[1] == out


def test_what_is_left_out_is_said_beside_the_data(tmp_path):
    path = tmp_path / "mixed.session.jsonl"
    session = mixed()
    lines = [session.header, session.plan, *session.runs]
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    code, out, err = said("export", path, "--format", "pyperf")
    assert code == 0
    assert json.loads(out)["version"] == "1.0"
    assert f"{RATE_CASE.name} is left out: pyperf knows costs" in err
    assert "not complete" in err


def test_a_file_that_is_there_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "steelyard.prom"
    path.write_text("older")
    assert said("export", WHOLE, "--format", "openmetrics", "-o", path)[0] == 0
    assert path.read_text().endswith("# EOF\n")
    assert [file.name for file in tmp_path.iterdir()] == ["steelyard.prom"]


def test_a_device_stays_a_device_and_a_link_a_link(tmp_path):
    assert said("export", WHOLE, "--format", "csv", "-o", "/dev/null")[0] == 0
    assert Path("/dev/null").is_char_device()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "target.csv")
    assert said("export", WHOLE, "--format", "csv", "-o", link)[0] == 0
    assert link.is_symlink()
    assert (tmp_path / "target.csv").read_text().startswith("session,")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("export", WHOLE, "--format", "nonsense"), 64, "nonsense"),
        (("export", WHOLE), 64, "--format"),
        (("export", WHOLE, "--format", "parquet"), 64, "not text"),
        (("export", WHOLE, "--format", "csv", "-o", "/proc/x/y.csv"), 73, "cannot be written"),
        (("export", WHOLE, "--format", "csv", "-o", "/"), 73, "cannot be written"),
        (("export", "/nonexistent", "--format", "csv"), 66, "cannot be read"),
        (("export", WHOLE, "--format", "github-bigger-is-better"), 65, "better when lower"),
        (("import", "/nonexistent.json"), 66, "cannot be read"),
        (("import", "/tmp"), 66, "cannot be read"),
        (("import", WHOLE), 66, "is a session already"),
        (("import", Path(__file__)), 66, "neither a session nor a JSON file"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_with_its_exit_code(arguments, code, words):
    got, out, err = said(*arguments)
    assert (got, out) == (code, "")
    assert words in err
    assert err.startswith("steelyard: ")
    assert "Traceback" not in err


def test_an_import_never_overwrites(tmp_path):
    source = tmp_path / "x.json"
    source.write_text('{"results": [{"command": "x", "times": [1.0]}]}')
    there = tmp_path / "there.session.jsonl"
    there.write_text("precious")
    code, _, err = said("import", source, "-o", there)
    assert (code, there.read_text()) == (64, "precious")
    assert "exists" in err


def test_a_file_larger_than_any_result_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(10 * 2**30)  # a hole: it takes no room on the disk
    code, _, err = said("import", path)
    assert code == 66
    assert "has 10240 MiB, and at most 128 MiB are read" in err


def test_an_import_goes_to_the_sessions_folder_and_is_shown_compared_and_claimed(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_SESSIONS", str(tmp_path / "sessions"))
    source = tmp_path / "x.json"
    results = [
        {"command": name, "times": noise(seed, 1.0)} for seed, name in enumerate(("sleep 1", "a/b c", HOSTILE[2]))
    ]
    source.write_text(json.dumps({"results": results}))
    code, out, err = said("import", source)
    assert (code, err) == (0, "")
    assert Path(out.strip()).parent == tmp_path / "sessions"
    shown = " ".join(said("show")[1].split())
    assert "no controls" in shown
    assert "sleep 1" in shown
    assert "a/b c" in shown
    assert "VOID" not in shown
    code, out, _ = said("compare", "hyperfine/sleep 1@free", "hyperfine/a/b c@free", "--json")
    assert code == 0
    assert len(json.loads(out)) == 1
    assert said("claims", "--short", "--all")[0] == 0, "whatever it does not answer is said"


def test_no_control_character_of_a_foreign_file_reaches_the_terminal(tmp_path):
    source, path = tmp_path / "x.json", tmp_path / "x.session.jsonl"
    results = [{"command": name, "times": [1.0, 1.1]} for name in HOSTILE]
    source.write_text(json.dumps({"results": results}))
    assert said("import", source, "-o", path)[0] == 0
    for command in (("show", path), ("show", path, "--json"), ("compare", path, path), ("compare", source, source)):
        code, out, err = said(*command)
        assert code == 0, err
        assert all(c.isprintable() or c == "\n" for c in out)


def test_a_session_as_parquet_has_what_csv_has(tmp_path):
    import duckdb

    for name in ("csv", "parquet"):
        assert said("export", WHOLE, "--format", name, "-o", tmp_path / f"x.{name}")[0] == 0
    counts = [
        duckdb.connect()
        .execute(f"SELECT count(*), count(DISTINCT \"case\"), sum(value) FROM '{tmp_path}/x.{name}'")
        .fetchall()[0]
        for name in ("csv", "parquet")
    ]
    assert counts[0] == pytest.approx(counts[1])
    assert counts[0][0] > 0
