# SPDX-License-Identifier: Apache-2.0
"""The store: whole parts, months apart, and a question reads nothing else. In a folder and in an object store alike."""

import secrets

import duckdb
import numpy as np
import pytest

from steelyard.errors import InstallationError, SessionFileError, StorageError, UsageError
from steelyard.keep import store as stores
from steelyard.keep.store import Store, is_store


@pytest.fixture(params=["folder", "memory"])
def place(request, tmp_path):
    """Where a store may be; the object store is that of this process."""
    if request.param == "folder":
        return str(tmp_path / "it's a store")
    pytest.importorskip("fsspec")
    return f"memory://{secrets.token_hex(4)}/store"


def add(store: Store, month: str, *ids: str, runs=True) -> None:
    rows = [(one, f"{month}-15 12:00:00", f"node-{one}", "key", "CPU", "6.12", "{}", "p", "0") for one in ids]
    columns = {
        "session": np.array([one for one in ids for _ in range(2)], dtype=object),
        "case_name": np.array(["a/x@same"] * 2 * len(ids), dtype=object),
        "metric": np.array(["operation"] * 2 * len(ids), dtype=object),
        "unit": np.array(["s"] * 2 * len(ids), dtype=object),
        "better": np.array(["lower"] * 2 * len(ids), dtype=object),
        "block": np.array([1, 2] * len(ids), dtype=np.int32),
        "number": np.arange(2.0 * len(ids)),
    }
    store.add(month, rows, columns)


def test_what_was_added_is_there_by_month(place):
    with Store(place) as store:
        assert not is_store(place)
        assert (store.ids(), store.months()) == (set(), [])
        add(store, "2026-01", "b", "a")
        add(store, "2026-02", "c")
        assert store.ids() == {"a", "b", "c"}
        assert store.months() == ["2026-01", "2026-02"]
        assert is_store(place)
        found = store.numbers(["2026-01"])
    assert found.sessions == [("node-a", "key", "CPU"), ("node-b", "key", "CPU")]
    assert found.cases == [("a/x@same", "s", "lower", "operation")]
    by_place = {(s, b): n for s, b, n in zip(found.session, found.block, found.number, strict=True)}
    assert by_place == {(1, 0): 0.0, (1, 1): 1.0, (0, 0): 2.0, (0, 1): 3.0}


def test_a_question_sees_both_views_and_the_months(place):
    with Store(place) as store:
        add(store, "2026-01", "a")
        add(store, "2026-02", "b")
        answer = store.ask(
            "SELECT month, node, sum(number) s FROM runs JOIN sessions USING (session, month) GROUP BY ALL"
        )
        assert sorted(answer.rows) == [("2026-01", "node-a", 1.0), ("2026-02", "node-b", 1.0)]
        assert answer.columns == ("month", "node", "s")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY runs TO '/tmp/x.csv'",
        "SELECT 1; SELECT 2",
        "DROP VIEW runs",
        "SELECT nothing FROM runs",
        "ATTACH '/tmp/x.duckdb'",
    ],
)
def test_a_question_reads_nothing_else_and_changes_nothing(place, text):
    with Store(place) as store:
        add(store, "2026-01", "a")
        with pytest.raises(UsageError):
            store.ask(text)


def test_an_empty_place_holds_no_sessions(place):
    with Store(place) as store, pytest.raises(SessionFileError, match="fleet pack"):
        store.ask("FROM runs")


def test_a_part_whose_writing_was_cut_short_counts_for_nothing(tmp_path):
    with Store(str(tmp_path)) as store:
        add(store, "2026-01", "a")
        add(store, "2026-01", "b")
        [path] = [
            path
            for path in (tmp_path / "sessions" / "month=2026-01").iterdir()
            if "b" in str(duckdb.read_parquet(str(path)).fetchall()[0][0])
        ]
        path.unlink()
        assert store.ids() == {"a"}
        assert [node for node, _, _ in store.numbers(["2026-01"]).sessions] == ["node-a"]


def test_a_store_that_cannot_be_written_says_so_and_leaves_no_half(tmp_path, monkeypatch):
    (tmp_path / "runs").write_text("in the way")
    with Store(str(tmp_path)) as store, pytest.raises(StorageError, match="nothing of it counts"):
        add(store, "2026-01", "a")
    assert not list(tmp_path.rglob("*.half"))
    assert not is_store(str(tmp_path))


def test_a_url_that_nothing_knows_is_named_and_so_is_what_is_missing(monkeypatch):
    pytest.importorskip("fsspec")
    with pytest.raises(UsageError, match="smoke://x is not a place"):
        stores.file_system("smoke://x")
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(InstallationError, match=r"steelyard\[fleet\]"):
        stores.file_system("s3://bucket/x")
