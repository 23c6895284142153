# SPDX-License-Identifier: Apache-2.0
"""`steelyard wsgi`: an application of one's own over servers, and one clear sentence for what cannot be weighed."""

import json

import pytest

from steelyard.__main__ import main
from steelyard.errors import UsageError
from tests import processes
from tests.integration.laboratory import words

APPLICATION = """
def app(environ, start_response):
    if environ["PATH_INFO"] == "/missing":
        start_response("404 Not Found", [("Content-Length", "0")])
        return []
    if environ["PATH_INFO"] == "/broken":
        raise RuntimeError("the cupboard is bare")
    body = b"weighed"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
"""
#: The one server that every interpreter has, and one beside it.
SERVERS = ("--server", "wsgiref", "--server", "waitress")


@pytest.fixture
def shop(laboratory):
    """A laboratory with an application."""
    processes.tool("wrk", "ab")
    (laboratory.folder / "shop.py").write_text(APPLICATION)
    return laboratory


def test_each_server_is_a_row_with_its_figures_and_its_faults(shop):
    done = shop.do("wsgi", "shop:app", *SERVERS, "--connections", "3", "--budget", "5s", "--seed", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert "5s is too short to decide anything: a first look at 1 comparison with the fastest server" in words(
        done.stderr
    )
    said = json.loads(done.stdout)
    rows = {row["server"]: row for row in said["rows"]}
    assert rows.keys() | said["skipped"].keys() == {"wsgiref", "waitress"}
    for row in rows.values():
        assert row.get("failed") is None
        assert row["cpu_s"] > 0
        assert 0 < row["own_share"] <= 1
    assert any("PEP 3333" in clause or "pipelined" in clause for clause in rows["wsgiref"]["wrong"])
    assert said["advice"]["servers"] == [], "one block supports no recommendation"
    assert rows["wsgiref"]["development"]
    assert processes.gone(shop.mark)


@pytest.mark.parametrize(
    ("application", "path", "sentence"),
    [
        ("shop", "/", "shop is no application: write module:callable"),
        ("absent:app", "/", "absent:app cannot be called: ModuleNotFoundError: No module named 'absent'"),
        ("shop:absent", "/", "has no attribute 'absent'"),
        ("shop:app", "/missing", "shop:app answers /missing with 404 Not Found: name a page that it answers with 200"),
        ("shop:app", "/broken", "RuntimeError: the cupboard is bare"),
    ],
)
def test_what_cannot_be_weighed_is_one_sentence_before_anything_is_measured(
    shop, application, path, sentence, monkeypatch, capsys
):
    monkeypatch.chdir(shop.folder)
    assert main(["wsgi", application, "--path", path, *SERVERS]) == UsageError.exit_code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in words(printed.err)
    assert "Traceback" not in printed.err


def test_a_server_that_there_is_not_is_named_with_those_that_there_are(shop, capsys):
    assert main(["wsgi", "shop:app", "--server", "apache"]) == UsageError.exit_code
    assert "--server apache: no such server; there are bjoern, cheroot" in words(capsys.readouterr().err)


def test_a_sweep_is_of_servers_that_are_named(shop, capsys):
    assert main(["wsgi", "shop:app", "--sweep"]) == UsageError.exit_code
    assert "--sweep goes with --server NAME" in words(capsys.readouterr().err)


def test_a_choice_of_a_server_ends_with_a_sweep_of_its_workers(shop):
    done = shop.do("choose", "server", "shop:app", "--server", "waitress", "--budget", "6s", "--json")
    assert done.returncode == 0, done.stderr
    chosen = json.loads(done.stdout)
    assert chosen["servers"] is None
    assert {(row["workers"], row["threads"]) for row in chosen["sweep"]["rows"]} == {(1, 0), (1, 4)}
    # Nothing is said of a session that is void, or that was so slow that its budget ended before the second row.
    told = chosen["sweep"]["void"] is None and any(row["against"] for row in chosen["sweep"]["rows"])
    assert (chosen["knee"] is not None) == told
    if told:
        assert chosen["knee"]["row"]["workers"] == 1
