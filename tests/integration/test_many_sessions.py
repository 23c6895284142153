# SPDX-License-Identifier: Apache-2.0
"""`query` and `history` as a person uses them, over a folder of made-up sessions with one change in it."""

import csv
import io
import json

import pytest

from steelyard.__main__ import main
from steelyard.errors import OutputError, SelectionError, SessionFileError, UsageError
from tests.integration.laboratory import words
from tests.many import a_history, a_variation, write

CASE = "example/swept[n=10,kind=thread]@same"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve sessions of one machine, the kernel changed in the middle; one of another; one that is malformed."""
    place = tmp_path_factory.mktemp("many")
    a_history(place)
    write(place / "other.session.jsonl", a_variation(20, key="ffffffffffff"))
    (place / "broken.session.jsonl").write_text('{"type":"session","schema"\n')
    return place


def done(capsys, *arguments):
    code = main([str(one) for one in arguments])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return code, printed.out, printed.err


def test_a_question_is_answered_and_the_malformed_file_named(folder, capsys):
    sql = f"""SELECT kernel, count(*) AS sessions FROM sessions JOIN cases USING (session)
              WHERE case_name = '{CASE}' GROUP BY ALL ORDER BY ALL"""
    code, out, err = done(capsys, "query", sql, folder, "--format", "csv")
    assert code == 0
    assert list(csv.reader(io.StringIO(out))) == [
        ["kernel", "sessions"],
        ["6.0-example", "1"],
        ["6.1", "6"],
        ["6.12", "6"],
    ]
    [line] = err.splitlines()
    assert line.startswith(f"steelyard: left out: {folder / 'broken.session.jsonl'}:1: not a line of a session file")


def test_an_answer_is_a_table_csv_json_or_parquet(folder, capsys, tmp_path):
    import duckdb

    sql = "SELECT case_name, median FROM cases WHERE NOT control ORDER BY ALL LIMIT 2"
    _, table, _ = done(capsys, "query", sql, folder)
    assert table.splitlines()[0].split() == ["case_name", "median"]
    _, text, _ = done(capsys, "query", sql, folder, "--format", "json")
    objects = json.loads(text)
    for ending in ("csv", "json", "parquet"):
        assert done(capsys, "query", sql, folder, "-o", tmp_path / f"a.{ending}")[:2] == (0, "")
    assert json.loads((tmp_path / "a.json").read_text()) == objects
    rows = duckdb.read_parquet(str(tmp_path / "a.parquet")).fetchall()
    assert [dict(zip(("case_name", "median"), row, strict=True)) for row in rows] == objects


def test_without_a_question_the_views_are_listed(capsys):
    code, out, _ = done(capsys, "query")
    assert code == 0
    assert all(view in out for view in ("sessions", "cases", "runs", "run_values", "figures"))


REFUSED = {
    "no SELECT": (["query", "DROP VIEW cases", "{folder}"], UsageError, "one SELECT over the views"),
    "a wrong column": (["query", "SELECT nothing FROM cases", "{folder}"], UsageError, "nothing"),
    "a file of the system": (["query", "FROM read_text('/etc/hostname')", "{folder}"], UsageError, "the query failed"),
    "an unknown format": (["query", "SELECT 1", "{folder}", "--format", "xml"], UsageError, "xml"),
    "an unknown ending": (["query", "SELECT 1", "{folder}", "-o", "a.xlsx"], UsageError, "name it .csv, .json or"),
    "parquet on a terminal": (["query", "SELECT 1", "{folder}", "--format", "parquet"], UsageError, "-o FILE.parquet"),
    "no folder": (["query", "SELECT 1", "{folder}/nowhere"], SessionFileError, "is not a session file, folder or"),
    "an empty folder": (["query", "SELECT 1", "{empty}"], SessionFileError, "there is no session in"),
    "only malformed files": (["query", "SELECT 1", "{folder}/broken*"], SessionFileError, "none of the 1 session"),
    "a place that cannot be": (
        ["query", "SELECT 1", "{folder}", "-o", "/proc/no/a.csv"],
        OutputError,
        "cannot be written",
    ),
    "an unknown case": (["history", "no/body", "{folder}"], SelectionError, 'no session has measured "no/body"'),
    "many cases": (["history", "example/swept", "{folder}"], SelectionError, "stands for 6 cases"),
    "a wrong margin": (["history", CASE, "{folder}", "--margin", "much"], UsageError, "--margin takes a share"),
    "history of an empty folder": (["history", CASE, "{empty}"], SessionFileError, "there is no session in"),
    "a browser of an empty folder": (["ui", "{empty}"], SessionFileError, "there is no session in"),
    "a port that cannot be": (["ui", "{folder}", "--port", "99999"], UsageError, "choose another with --port"),
}


@pytest.mark.parametrize(("arguments", "error", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_refused_in_a_sentence(arguments, error, sentence, folder, tmp_path, capsys):
    filled = [one.replace("{folder}", str(folder)).replace("{empty}", str(tmp_path)) for one in arguments]
    code, out, err = done(capsys, *filled)
    assert code == error.exit_code
    assert out == ""
    assert sentence in words(err)


def test_a_history_finds_the_change_and_what_changed_with_it(folder, capsys):
    code, out, err = done(capsys, "history", "example/swept[n=10,kind=thread]", folder, "--json")
    assert code == 0
    assert "broken.session.jsonl" in err
    found = json.loads(out)
    assert found["case"] == CASE
    first, second = found["machines"]
    assert (len(first["sessions"]), len(second["sessions"]), second["turns"]) == (12, 1, [])
    [turn] = first["turns"]
    assert turn["session"].endswith("00006.session.jsonl")
    assert turn["ratio"] == pytest.approx(1.2, rel=0.03)
    assert turn["worse"] is True
    assert turn["differences"] == [{"what": "kernel", "before": "6.1", "after": "6.12"}]


def test_a_history_is_read_on_a_terminal(folder, capsys):
    _, out, _ = done(capsys, "history", CASE, folder)
    assert "kernel: 6.1 → 6.12" in out
    assert "machine ffffffffffff" in out
    assert "not ranked" in out


def test_a_history_of_many_files_is_read_in_several_processes(folder, capsys, monkeypatch):
    from steelyard.lab import many

    expected = done(capsys, "history", CASE, folder, "--json")
    monkeypatch.setattr(many, "WORTH_PROCESSES", 1)
    assert done(capsys, "history", CASE, folder, "--json") == expected
