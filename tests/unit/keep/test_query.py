# SPDX-License-Identifier: Apache-2.0
import math

import duckdb
import msgspec
import pytest

from steelyard.errors import OutOfMemoryError, UsageError
from steelyard.judge.findings import judge
from steelyard.judge.samples import case_runs, numbers
from steelyard.keep import index, query
from steelyard.keep.session import read
from steelyard.records import Run
from tests.golden.make_sessions import HERE
from tests.making import a_case, a_descriptor, a_header, a_metric, a_run, a_session, a_value, counted
from tests.many import WHOLE, a_history, a_variation, lines_of, write


def opened(paths, complain=lambda _: None, output=None):
    return query.open_sessions(list(paths), numbers, complain, output)


def asked(paths, sql):
    with opened(paths) as sessions:
        return sessions.ask(sql).rows


# --- the views say what the judge says --------------------------------------------------------------------------------


def troubled(tmp_path):
    """A session in which attempts were repeated, failed and disturbed, of a probe with a lower quartile and counts."""
    case = a_case("example/counted")
    metrics = (a_metric(), a_metric("per_switch", per="switches"), a_metric("share", unit="1", over="cpu", per="wall"))
    header = a_header(case, probes=(a_descriptor("example/counted", statistic="lower_quartile", metrics=metrics),))

    def run(block, attempt, seconds, **more):
        counts = {"checked": 1000, "switches": block % 3}
        counters = counted(share=0.5, cycles=1000 * block, instructions=3000) if block > 1 else None
        values = tuple(
            a_value(seconds * k, cpu_ns=round(1000 * k), counts=counts, counters=counters if k < 1.2 else None)
            for k in (1.0, 1.1, 1.3, 1.2)
        )
        return a_run(case, block, attempt=attempt, values=values, **more)

    runs = [
        run(1, 1, 1e-6),
        run(2, 1, 9e-6, disturbed=("others",), foreign_share=0.5),
        run(2, 2, 1.2e-6),
        run(3, 1, 8e-6, disturbed=("others",), foreign_share=0.5),
        run(3, 2, 7e-6, disturbed=("others",), foreign_share=0.2, steal_share=0.1),
        run(4, 1, 1e-6, status="failed"),
        run(4, 2, 1.1e-6),
        run(5, 1, 1e-6, status="failed"),
        run(6, 1, 1.3e-6),
        run(7, 1, 1.4e-6),
        run(8, 1, 0.9e-6),
    ]
    return write(tmp_path / "troubled.session.jsonl", lines_of(a_session(*runs, header=header)))


@pytest.mark.parametrize("make", [lambda _: WHOLE, lambda _: HERE / "interrupted.session.jsonl", troubled])
def test_the_view_of_cases_has_the_figures_of_the_judge(make, tmp_path):
    path = make(tmp_path)
    rows = asked([path], "SELECT case_name, metric, n, median, low, high, minimum, p25, p99 FROM cases")
    there = {row[0]: row[1:] for row in rows}
    found = judge(read(path)).cases
    assert found
    assert set(there) == {case.case for case in found}
    for case in found:
        metric, n, *figures = there[case.case]
        main = case.main
        assert (metric, n) == (main.metric, main.n)
        expected = [main.median, main.low, main.high, main.minimum, main.p25, main.p99]
        assert figures == [None if one is None else pytest.approx(one, rel=1e-12) for one in expected]


@pytest.mark.parametrize("make", [lambda _: WHOLE, troubled])
def test_the_number_of_each_run_and_metric_is_that_of_the_judge(make, tmp_path):
    path = make(tmp_path)
    rows = asked([path], "SELECT case_name, metric, block, number FROM figures WHERE counts AND isfinite(number)")
    there = {row[:3]: row[3] for row in rows}
    expected = {
        (runs.planned.case.name, metric.name, block): number
        for runs in case_runs(read(path))
        for metric in (*runs.descriptor.metrics, *runs.counters)
        for block, number in enumerate(runs.sample(metric).tolist(), start=1)
        if math.isfinite(number)
    }
    assert there.keys() == expected.keys()
    assert all(there[key] == pytest.approx(expected[key], rel=1e-12) for key in expected)


def test_counters_of_the_processor_can_be_asked_for(tmp_path):
    sql = "SELECT block, counters['counter.cycles'] / counters['counter.operations'] FROM run_values WHERE n = 0"
    assert asked([troubled(tmp_path)], sql + " AND block IN (1, 6) ORDER BY 1") == [(1, None), (6, 24.0)]
    assert asked([WHOLE], "SELECT count(*) FROM run_values WHERE counters['counter.cycles'] IS NOT NULL") == [(0,)]


def test_runs_and_values_are_all_there():
    runs = read(WHOLE).runs
    assert asked([WHOLE], "SELECT count(*) FROM runs") == [(len(runs),)]
    rows = asked([WHOLE], "SELECT count(*), sum(wall_s), sum(counts['checked']) FROM run_values")
    values = [value for run in runs for value in run.values]
    wall = sum(value.wall_ns for value in values) / 1e9
    assert rows == [(len(values), pytest.approx(wall), sum(value.counts["checked"] for value in values))]


def test_a_session_has_its_header_as_columns_and_maps(tmp_path):
    path = write(tmp_path / "a.session.jsonl", a_variation(3, kernel="6.7", governor="powersave"))
    sql = "SELECT started::VARCHAR, machine_key, kernel, governor, facts['memory'], complete, blocks FROM sessions"
    assert asked([path], sql) == [("2020-01-04 10:00:00", "0123456789ab", "6.7", "powersave", "8 GiB", True, 8)]


def test_every_column_is_documented_and_can_be_asked_for():
    with opened([WHOLE]) as sessions:
        for view in query.VIEWS:
            answer = sessions.ask(f"SELECT * FROM {view.name} LIMIT 1")
            assert answer.columns == tuple(column.name for column in view.columns)
            assert all(column.doc for column in view.columns)


# --- what may not be asked --------------------------------------------------------------------------------------------

FORBIDDEN = [
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM '/etc/hostname'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_parquet('https://example.org/x.parquet')",
    "SELECT * FROM paths",  # a name of the program that asks is no table
    "COPY sessions TO '{}'",
    "EXPORT DATABASE '{}'",
    "ATTACH '{}' AS other",
    "CREATE TABLE t AS SELECT 1",
    "DROP VIEW sessions",
    "INSERT INTO kept.runs SELECT * FROM kept.runs",
    "DELETE FROM kept.sessions",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "PRAGMA enable_external_access",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SELECT 1; COPY sessions TO '{}'",
    "SELECT 1) TO '{}'; --",
    "",
    "-- nothing",
    "selec 1",
    "SELECT nothing FROM cases",
    "SELECT CAST('x' AS INTEGER)",
    "SELECT * FROM read_text('./.tmp/secret')",
    "SELECT * FROM read_text('.tmp/secret')",
    "WITH x AS (UPDATE wanted SET session = 1 RETURNING 1) SELECT * FROM x",
    "WITH x AS (DELETE FROM kept.runs RETURNING 1) SELECT * FROM x",
    "WITH x AS (INSERT INTO wanted VALUES (2) RETURNING 1) SELECT * FROM x",
    "SELECT error('made up')",
]


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_what_is_no_question_over_the_views_is_one_sentence_and_does_nothing(sql, tmp_path, monkeypatch):
    paths = [WHOLE]
    # Where DuckDB would put what does not fit into memory, unless it is told not to.
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".tmp").mkdir()
    (tmp_path / ".tmp" / "secret").write_text("a secret")
    target = tmp_path / "written"
    with opened(paths) as sessions:
        with pytest.raises(UsageError) as raised:
            sessions.ask(sql.format(target))
        assert "\n" not in str(raised.value)
        assert "`steelyard query` without SQL" in str(raised.value)
        assert sessions.ask("SELECT count(*) FROM sessions").rows == [(1,)]
    assert not target.exists()


def test_parquet_goes_to_the_one_file_that_was_named(tmp_path):
    there, elsewhere = tmp_path / "it's.parquet", tmp_path / "elsewhere.parquet"
    with opened([WHOLE], output=there) as sessions:
        sessions.write_parquet("SELECT case_name, median FROM cases; -- all of them", there)
        expected = sessions.ask("SELECT case_name, median FROM cases").rows
        changing = "WITH x AS (DELETE FROM wanted RETURNING 1) SELECT * FROM x"
        for sql, path in (
            ("SELECT 1", elsewhere),
            ("DROP VIEW cases", there),
            ("SELECT nothing", there),
            (changing, there),
        ):
            with pytest.raises(UsageError):
                sessions.write_parquet(sql, path)
    assert not elsewhere.exists()
    assert sorted(duckdb.read_parquet(str(there)).fetchall()) == sorted(expected)


def test_a_question_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(query, "LONGEST_S", 0.2)
    with opened([WHOLE]) as sessions:
        with pytest.raises(UsageError, match="ask for less"):
            sessions.ask(
                "SELECT count(*) FROM range(10_000_000_000) a, range(10_000_000_000) b WHERE a.range < b.range"
            )
        assert sessions.ask("SELECT count(*) FROM sessions").rows == [(1,)]


def test_too_little_memory_is_one_sentence(monkeypatch):
    def full(*_, **__):
        raise duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure")

    monkeypatch.setattr(duckdb, "connect", full)
    with pytest.raises(OutOfMemoryError, match=r"SQL needs more memory .*ulimit -v"):
        opened([WHOLE])


def test_what_stands_in_a_file_is_never_sql(tmp_path):
    nasty = "'); DROP VIEW sessions; --\"$.x"
    base = read(WHOLE)
    machine = msgspec.structs.replace(base.header.machine, key=nasty, facts={nasty: nasty}, environment={nasty: nasty})
    header = msgspec.structs.replace(base.header, id=nasty, machine=machine, command=(nasty,))
    runs = [msgspec.structs.replace(run, compiler=nasty, caveats=(nasty,)) for run in base.runs]
    path = write(
        tmp_path / f"{nasty.replace('/', '')}.session.jsonl",
        lines_of(msgspec.structs.replace(base, header=header, runs=tuple(runs))),
    )
    [(*texts, facts)] = asked([path], "SELECT id, machine_key, compilers, facts FROM sessions")
    assert (texts, facts[nasty]) == ([nasty] * 3, nasty)


# --- many files -------------------------------------------------------------------------------------------------------


def test_a_malformed_file_among_others_is_named_and_left_out(tmp_path):
    paths = a_history(tmp_path, 3)
    lines = paths[1].read_bytes().splitlines(keepends=True)
    paths[1].write_bytes(b"".join([*lines[:40], b'{"type":"run","case":7}\n', *lines[40:]]))
    complaints = []
    with opened(paths, complaints.append) as sessions:
        assert sessions.files == 2
        assert sessions.ask("SELECT count(DISTINCT session) FROM runs").rows == [(2,)]
    assert len(complaints) == 1
    assert complaints[0].startswith(f"{paths[1]}:41: not a line of a session file")


def test_a_torn_last_line_is_passed_over(tmp_path):
    [path] = a_history(tmp_path, 1)
    whole = asked([path], "SELECT count(*) FROM runs")
    path.write_bytes(path.read_bytes()[:-5])
    assert asked([path], "SELECT count(*) FROM runs") == whole
    assert asked([path], "SELECT complete FROM sessions") == [(False,)]


@pytest.fixture
def _kept_index(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "_WORTH_KEEPING", 0)


@pytest.mark.usefixtures("_kept_index")
def test_a_large_folder_is_read_once_and_answers_as_before(tmp_path, monkeypatch):
    paths = a_history(tmp_path / "sessions", 4)
    sql = "SELECT file, case_name, median, low, high FROM cases ORDER BY ALL"
    first = asked(paths[:3], sql)
    assert index.default_path().is_file()
    read_files = []
    original = index.read_batch
    monkeypatch.setattr(index, "read_batch", lambda of, batch: read_files.extend(batch) or original(of, batch))
    assert asked(paths[:3], sql) == first
    assert read_files == []
    assert len(asked(paths, sql)) == len(first) // 3 * 4
    assert read_files == [paths[3]]
    # What others put into the index is not part of this question.
    assert asked(paths[:3], sql) == first


@pytest.mark.usefixtures("_kept_index")
def test_an_index_that_is_damaged_or_cannot_be_written_changes_nothing(tmp_path):
    paths = a_history(tmp_path / "sessions", 2)
    sql = "SELECT case_name, median FROM cases ORDER BY ALL"
    index.default_path().parent.mkdir(parents=True)
    index.default_path().write_bytes(b"no database")
    damaged = asked(paths, sql)
    index.default_path().unlink()
    index.default_path().mkdir()
    unwritable = asked(paths, sql)
    index.default_path().rmdir()
    assert damaged == unwritable == asked(paths, sql)


def test_a_run_of_a_case_that_the_header_does_not_know_is_left_out(tmp_path):
    lines = a_variation(1)
    stranger = next(line for line in lines if isinstance(line, Run))
    path = write(tmp_path / "a.session.jsonl", [*lines, msgspec.structs.replace(stranger, case="no/body@same")])
    assert asked([path], "SELECT count(*) FROM runs WHERE case_name = 'no/body@same'") == [(0,)]


def test_the_largest_numbers_that_a_session_may_have_spoil_no_answer(tmp_path):
    path = write(tmp_path / "a.session.jsonl", a_variation(1))
    huge = 2**63 - 1
    text = path.read_text().replace('"seed":7', f'"seed":{huge}').replace('"checked":500000', f'"checked":{huge}')
    text = text.replace('"padding":0', f'"padding":{huge}', 1).replace('"started":1.0', '"started":1e11')
    path.write_text(text)
    assert asked([path], "SELECT seed FROM sessions") == [(huge,)]
    with opened([path, WHOLE]) as sessions:
        for view in query.VIEWS:
            assert sessions.ask(f"SELECT * FROM {view.name}").rows
