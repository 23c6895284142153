# SPDX-License-Identifier: Apache-2.0
"""Sessions of every time are read, and all that is in them: docs/reference/session-versions.md."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from steelyard.errors import SessionFileError
from steelyard.judge.findings import judge
from steelyard.keep import session as sessions
from steelyard.records import SCHEMA
from tests.many import lines_of

TESTS = Path(__file__).parents[2]
#: Written by the code of their day; the newest is what is written today.
VERSIONS = [*sorted((TESTS / "versions").glob("*.session.jsonl.gz")), TESTS / "golden" / "whole.session.jsonl"]


def contents(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def lost(kept: object, read: object, where: str = "") -> list[str]:
    """What of a line is not found again in the record that was made of it."""
    if isinstance(kept, dict):
        there = read if isinstance(read, dict) else {}
        return [one for key in kept for one in lost(kept[key], there.get(key, "nothing"), f"{where}.{key}")]
    if isinstance(kept, list) and isinstance(read, list) and len(kept) == len(read):
        return [one for n, pair in enumerate(zip(kept, read, strict=True)) for one in lost(*pair, f"{where}[{n}]")]
    return [] if kept == read else [f"{where}: {kept!r} was read as {read!r}"]


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.name.partition(".")[0])
def test_a_session_of_every_time_is_read_and_judged_and_nothing_of_it_is_lost(path):
    read = sessions.decode(contents(path), path.name)
    by_kind = defaultdict(list)
    for line in lines_of(read):
        record = json.loads(msgspec.json.encode(line))
        by_kind[record["type"]].append(record)
    for line in contents(path).splitlines():
        record = json.loads(line)
        assert lost(record, by_kind[record["type"]].pop(0), record["type"]) == []
    assert not any(by_kind.values())
    assert judge(read).cases


def test_there_is_a_session_of_every_schema():
    schemas = {json.loads(contents(path).partition(b"\n")[0])["schema"] for path in VERSIONS}
    assert schemas == set(range(1, SCHEMA + 1))


@pytest.mark.parametrize(
    ("kept", "where"),
    [
        ({"a": 1, "gone": 2}, [".gone: 2 was read as 'nothing'"]),
        ({"a": 3}, [".a: 3 was read as 1"]),
        ({"b": [{"c": 4}]}, [".b[0].c: 4 was read as 'nothing'"]),
    ],
)
def test_a_field_that_is_no_longer_read_would_be_found(kept, where):
    assert lost(kept, {"a": 1, "b": [{}]}) == where


def test_a_file_of_a_newer_schema_is_refused_by_its_first_line_whatever_follows():
    first = {"type": "session", "schema": SCHEMA + 1, "versions": {"steelyard": "9.1"}, "seed": "none"}
    with pytest.raises(SessionFileError) as refused:
        sessions.decode(json.dumps(first).encode() + b'\n{"type":"story"}\n', "a file")
    assert str(refused.value) == (
        f"a file has schema {SCHEMA + 1}; this Steelyard reads schema {SCHEMA}: install Steelyard 9.1, which wrote it, "
        "or a later one"
    )
