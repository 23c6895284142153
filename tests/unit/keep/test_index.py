# SPDX-License-Identifier: Apache-2.0
import os

import duckdb
import pytest

from steelyard.judge.samples import numbers
from steelyard.keep import index
from tests.many import a_history, a_variation, write


@pytest.fixture
def database():
    with duckdb.connect(":memory:") as connection:
        yield connection


def filled(database, paths):
    complaints = []
    index.fill(database, paths, numbers, complaints.append)
    return complaints


def count(database, table):
    return database.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]


def test_what_is_known_is_not_read_again(database, tmp_path, monkeypatch):
    paths = a_history(tmp_path, 3)
    assert filled(database, paths) == []
    monkeypatch.setattr(index, "read_batch", lambda *_: pytest.fail("read again"))
    assert filled(database, paths) == []
    assert count(database, "files") == 3


def test_a_session_that_went_on_replaces_what_was_kept_of_it(database, tmp_path):
    lines = a_variation(1)
    path = write(tmp_path / "a.session.jsonl", lines[:-20])
    filled(database, [path])
    before = count(database, "runs")
    write(path, lines)
    filled(database, [path])
    assert count(database, "files") == 1
    assert count(database, "runs") > before


def test_a_file_that_became_malformed_is_forgotten(database, tmp_path):
    path = write(tmp_path / "a.session.jsonl", a_variation(1))
    filled(database, [path])
    path.write_text("broken\n")
    assert [str(path) in complaint for complaint in filled(database, [path])] == [True]
    assert [count(database, table) for table in ("files", "sessions", "cases", "runs", "run_values")] == [0] * 5


def test_a_file_that_is_gone_is_forgotten(database, tmp_path):
    paths = a_history(tmp_path, 2)
    filled(database, paths)
    paths[0].unlink()
    assert filled(database, paths[1:]) == []
    assert [count(database, table) for table in ("files", "sessions")] == [1, 1]


def test_a_file_that_is_not_there_is_named(database, tmp_path):
    path = tmp_path / "gone.session.jsonl"
    assert filled(database, [path]) == [f"{path} cannot be read: No such file or directory"]


def test_reading_in_several_processes_gives_the_same(database, tmp_path, monkeypatch):
    paths = a_history(tmp_path, 5)
    filled(database, paths)
    monkeypatch.setattr(index, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(index, "_BATCH", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with duckdb.connect(":memory:") as other:
        filled(other, paths)
        for table in ("sessions", "cases", "metrics", "runs", "run_values"):
            query = f"SELECT * FROM {table} ORDER BY ALL"
            assert other.execute(query).fetchall() == database.execute(query).fetchall()
