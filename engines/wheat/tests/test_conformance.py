# SPDX-License-Identifier: Apache-2.0
"""Every request of the corpus, against a running server: whole, byte by byte and cut at random. What is malformed is
refused and ends the connection; what is valid is heard as it was meant; and in both the request that follows is never
answered as anything but itself."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance import check, corpus, lax
from conformance.talk import WAYS, Connection
from running import serving

LIMIT_BODY = 100_000
"""Bytes: the corpus has bodies beyond it."""

VALID = corpus.cases("valid")
INVALID = corpus.cases("invalid")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("conformance")
    (folder / "echo.py").write_bytes((corpus.FOLDER / "echo.py").read_bytes())
    socket = f"{folder}/wheat.sock"
    with serving("echo:application", "--limit-body", LIMIT_BODY, bind=f"unix:{socket}", folder=folder):
        yield socket


def problems(address: str, cases: list[corpus.Case], way: str) -> dict[str, str]:
    found = {case.name: check.problem(address, case, WAYS[way]) for case in cases}
    return {name: problem for name, problem in found.items() if problem}


@pytest.mark.parametrize("way", WAYS)
def test_valid_requests_are_heard_as_they_were_meant(address: str, way: str) -> None:
    assert problems(address, VALID, way) == {}


@pytest.mark.parametrize("way", WAYS)
def test_malformed_requests_are_refused_and_nothing_follows(address: str, way: str) -> None:
    check.reached_application(address)  # forgets the calls of other tests
    assert problems(address, INVALID, way) == {}


def test_pipelined_requests_are_answered_in_order(address: str) -> None:
    chance = random.Random(9112)
    lasting = [case for case in VALID if not case.closes and "content" not in case.expect]
    for round_number in range(6):
        chosen = chance.sample(lasting, 12)
        data = b"".join(case.request for case in chosen) + check.MARK
        with Connection(address) as connection:
            connection.send(WAYS["cut"](data, f"pipelined {round_number}"))
            for case in chosen:
                answer = connection.answer()
                assert answer is not None, case.name
                assert answer.status == case.status, case.name
                assert check.misheard(case, answer) is None, case.name
            assert check.mark_answered(connection) is None


def test_a_malformed_request_among_pipelined_ones_ends_them(address: str) -> None:
    chance = random.Random(9110)
    first = b"GET /first HTTP/1.1\r\nHost: h\r\n\r\n"
    for case in chance.sample(INVALID, 20):
        with Connection(address) as connection:
            connection.send(WAYS["cut"](first + case.request + check.MARK, case.name))
            answer = connection.answer()
            assert answer is not None, case.name
            assert answer.status == 200, case.name
            assert json.loads(answer.content)["environ"]["PATH_INFO"] == "/first", case.name
            assert check.invalid(case, connection) is None, case.name


def test_the_corpus_is_whole() -> None:
    """Every file says what it expects, and means bytes that differ from every other's."""
    assert len(VALID) > 60
    assert len(INVALID) > 200
    assert all(case.status == 200 and case.why for case in VALID)
    assert all(400 <= case.status < 600 and case.why for case in INVALID)
    assert len({case.request for case in VALID + INVALID}) == len(VALID) + len(INVALID)


def test_the_table_of_other_corpora_names_cases_of_ours() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/servers.md").read_text()
    rows = re.findall(r"^\| (?:in)?valid: .*\| (.*) \|$", page, re.MULTILINE)
    named = re.findall(r"`([\w-]+)` (\d+)", " ".join(rows))
    assert len(named) > 10
    assert {(name, int(status)) for name, status in named} <= {(case.name, case.status) for case in VALID + INVALID}


def test_the_check_finds_a_careless_server(tmp_path: Path) -> None:
    """It would be of no use if it passed anything."""
    plain = [
        case for case in VALID if case.name in ("get", "get-query", "length", "chunked", "chunked-trailer", "close")
    ]
    with lax.serving(tmp_path, lax.careless) as address:
        assert problems(address, plain, "bytewise") == {}, "it is careless, not broken"
        found = problems(address, quick(INVALID), "whole")
    assert set(found) == {case.name for case in quick(INVALID)}
    smuggled = [name for name, problem in found.items() if "200" in problem]
    assert len(smuggled) > 100, found


def quick(cases: list[corpus.Case]) -> list[corpus.Case]:
    """Those after which a careless server doesn't wait for more, as it would for a body that never ends."""
    return [case for case in cases if not case.name.startswith(("length-", "chunk-", "garbage-", "eol-cr", "both-"))]


def test_the_check_finds_a_server_that_depends_on_how_bytes_come(tmp_path: Path) -> None:
    plain = [case for case in VALID if case.name == "get"]
    with lax.serving(tmp_path, lax.one_read_one_head) as address:
        assert problems(address, plain, "whole") == {}
        assert set(problems(address, plain, "bytewise")) == {"get"}
