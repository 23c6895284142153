# SPDX-License-Identifier: Apache-2.0
"""Spare Cores' rows, by the columns of its tables."""

import json

import msgspec
import pytest

from steelyard.errors import SessionFileError
from steelyard.judge.findings import judge
from steelyard.keep import imported
from steelyard.keep import session as sessions
from steelyard.show import formats
from tests.unit.show.formats.sessions import COST_CASE, RATE_CASE, exported, mixed

#: Columns that may not be empty, as the tables have them.
SCORE = {"vendor_id", "benchmark_id", "resource_type", "resource_id", "config", "score", "status", "observed_at"}
BENCHMARK = {
    "benchmark_id",
    "source",
    "name",
    "framework",
    "config_fields",
    "higher_is_better",
    "status",
    "observed_at",
}
#: A row as it was before version 0.9, and what its benchmark says of itself.
OLD = {
    "vendor_id": "aws",
    "server_id": "t3a.small",
    "benchmark_id": "bw_mem",
    "config": {"operation": "rd", "size": 4.0},
    "framework_version": "3.0",
    "kernel_version": "6.8.0-1016-aws",
    "score": 12000.5,
    "note": None,
    "status": "active",
    "observed_at": "2025-06-01T10:00:00",
}
ABOUT = {"benchmark_id": "bw_mem", "name": "Memory bandwidth", "unit": "MB/sec", "higher_is_better": 1}


def test_it_has_the_columns_of_both_tables():
    data = json.loads(exported(mixed(), "spare-cores"))
    assert all(row.keys() >= SCORE and None not in [row[name] for name in SCORE] for row in data["benchmark_score"])
    assert all(row.keys() >= BENCHMARK and None not in [row[name] for name in BENCHMARK] for row in data["benchmark"])
    ids = [row["benchmark_id"] for row in data["benchmark"]]
    assert sorted(set(ids)) == sorted(ids)
    assert {row["benchmark_id"] for row in data["benchmark_score"]} == set(ids)


def test_a_score_is_a_median_whose_interval_is_in_the_note():
    data = json.loads(exported(mixed(), "spare-cores"))
    [row] = [row for row in data["benchmark_score"] if row["benchmark_id"] == "steelyard:call/direct"]
    [figure] = [case.main for case in judge(mixed()).cases if case.case == COST_CASE.name]
    assert row["score"] == figure.median
    assert row["config"] == {"depth": 3, "kind": "near", "placement": "same"}
    assert row["note"] == f"median of 6 processes, 95 % interval [{figure.low!r}, {figure.high!r}] s"
    rate = {row["benchmark_id"]: row for row in data["benchmark"]}["steelyard:message/pipe"]
    assert (rate["higher_is_better"], rate["unit"], rate["measurement"]) == (True, "B/s", "bandwidth")


def test_the_vendor_is_that_of_the_instance_type():
    session = mixed()
    environment = {**session.header.machine.environment, "platform": "Amazon EC2", "instance type": "m7a.large"}
    machine = msgspec.structs.replace(session.header.machine, environment=environment)
    known = msgspec.structs.replace(session, header=msgspec.structs.replace(session.header, machine=machine))
    for one, wanted in ((known, ("aws", "m7a.large")), (session, ("unknown", "unknown"))):
        rows = json.loads(exported(one, "spare-cores"))["benchmark_score"]
        assert {(row["vendor_id"], row["resource_id"]) for row in rows} == {wanted}


def back(data: object) -> sessions.Session:
    """The session that is made of these rows."""
    contents = json.dumps(data).encode()
    header, lines = imported.lines(formats.read(contents, "rows.json"), contents, "2026-01-02T03:04:05+00:00", {})
    return sessions.decode(b"".join(msgspec.json.encode(line) + b"\n" for line in (header, *lines)), "rows")


def test_what_was_written_is_read_as_the_same_cases_with_the_note_as_a_caveat():
    found = {case.case: case for case in judge(back(json.loads(exported(mixed(), "spare-cores")))).cases}
    wanted = {case.case: case for case in judge(mixed()).cases if not case.control}
    assert found.keys() == wanted.keys()
    for name, case in found.items():
        assert case.main.median == pytest.approx(wanted[name].main.median)
        assert (case.main.unit, case.main.better) == (wanted[name].main.unit, wanted[name].main.better)
        assert case.main.n == 1
        assert any("95 % interval [" in str(said) for said in case.caveats if isinstance(said, str))
    assert RATE_CASE.name in found


@pytest.mark.parametrize("data", [{"benchmark": [ABOUT], "benchmark_score": [OLD]}, [OLD]])
def test_rows_of_others_are_read_in_the_columns_of_before(data):
    session = back(data)
    [case] = judge(session).cases
    assert "bw_mem[operation=rd,size=4.0]" in case.case
    assert session.header.started == "2025-06-01T10:00:00+00:00"
    assert session.header.machine.facts["instance type"] == "aws/t3a.small"
    assert session.header.machine.environment["kernel"] == "6.8.0-1016-aws"
    if isinstance(data, dict):
        assert (case.main.median, case.main.unit, case.main.better) == (12000.5e6, "B/s", "higher")
    else:
        assert any("in which unit" in said for said in case.caveats if isinstance(said, str))


def test_rows_of_several_servers_and_rows_that_are_none_are_refused():
    with pytest.raises(SessionFileError, match=r"2 servers, aws/c7g\.large and others"):
        back([OLD, {**OLD, "server_id": "c7g.large"}])
    with pytest.raises(SessionFileError, match="no results"):
        back([{**OLD, "status": "INACTIVE"}])
    with pytest.raises(SessionFileError, match="malformed"):
        back([{**OLD, "score": "fast"}])
    with pytest.raises(SessionFileError, match="neither"):
        back([{"score": 1}])
