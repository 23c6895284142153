# SPDX-License-Identifier: Apache-2.0
"""Whatever is kept is read as it was, wherever the file is cut."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import ProtocolError, SessionFileError
from steelyard.keep import session as sessions
from steelyard.measure import protocol
from steelyard.records import Audit, Case, CasePattern, Disturbance, End, Plan, Resumed, Run, Skip, Value
from steelyard.units import format_quantity, prefix_for
from tests.making import a_case, a_descriptor, a_header, a_planned

counts = st.integers(0, 2**63 - 1)
maybe_counts = st.none() | counts
shares = st.none() | st.floats(0, 1)
seconds = st.floats(0, 1e9)
# Lone surrogates are not text: nothing that was decoded as UTF-8 has them.
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
names = st.from_regex(r"[a-z0-9_]{1,8}", fullmatch=True)

case_records = st.builds(
    Case,
    probe=st.builds("{}/{}".format, names, names),
    placement=st.sampled_from(["same", "cross", "free"]),
    parameters=st.dictionaries(names, st.integers(-(2**63), 2**63 - 1) | names, max_size=3),
)
values = st.builds(
    Value,
    operations=st.integers(1, 2**63 - 1),
    wall_ns=counts,
    lanes=st.integers(1, 1024),
    cpu_ns=maybe_counts,
    user_ns=maybe_counts,
    run_delay_ns=maybe_counts,
    counts=st.dictionaries(names, counts, max_size=3),
    readings=st.dictionaries(names, st.floats(-1e60, 1e60), max_size=3),
)
CASE = a_case()
runs = st.builds(
    Run,
    case=st.just(CASE.name),
    role=st.sampled_from(["pilot", "block", "sentinel"]),
    block=st.integers(1, 10**6),
    order=st.integers(0, 10**6),
    attempt=st.integers(1, 2),
    started=seconds,
    wall_s=seconds,
    status=st.sampled_from(["ok", "failed", "skipped"]),
    values=st.lists(values, max_size=3).map(tuple),
    caveats=st.lists(texts, max_size=2).map(tuple),
    error=st.none() | texts,
    foreign_share=shares,
    steal_share=shares,
    leftovers=st.lists(texts, max_size=2).map(tuple),
)
disturbances = st.builds(Disturbance, what=texts, advice=texts, severity=st.sampled_from(["note", "warning"]))
lines = st.one_of(
    runs,
    st.builds(Skip, subject=texts, reason=texts),
    st.builds(
        Audit, moment=st.sampled_from(["before", "after"]), disturbances=st.lists(disturbances, max_size=2).map(tuple)
    ),
    st.builds(Resumed, at=texts, machine_key=texts),
)
ends = st.builds(End, at=texts, reason=st.just("budget"), blocks=st.integers(0, 99), wall_s=seconds, timed_s=seconds)
PLAN = Plan(cases=(a_planned(CASE),), blocks=2)
HEADER = b"".join(msgspec.json.encode(line) + b"\n" for line in (a_header(CASE), PLAN))


def encoded(records, end=None) -> bytes:
    return HEADER + b"".join(msgspec.json.encode(record) + b"\n" for record in (*records, *([end] if end else [])))


@given(st.lists(lines, max_size=6), st.none() | ends)
def test_a_session_is_read_as_it_was_written(records, end):
    session = sessions.decode(encoded(records, end), "a file")
    for kind, kept in (
        (Run, session.runs),
        (Skip, session.skips),
        (Audit, session.audits),
        (Resumed, session.resumed),
    ):
        assert list(kept) == [record for record in records if isinstance(record, kind)]
    assert (session.plan, session.end) == (PLAN, end)


@given(st.lists(lines, max_size=4), st.data())
def test_wherever_a_file_is_torn_all_whole_lines_are_read(records, data):
    contents = encoded(records)
    cut = data.draw(st.integers(len(HEADER), len(contents)))
    torn = sessions.decode(contents[:cut], "a file")
    whole = sessions.decode(contents[: contents.rfind(b"\n", 0, cut) + 1], "a file")
    assert torn == whole


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader_but_by_its_own_error(noise):
    with contextlib.suppress(SessionFileError):
        sessions.decode(HEADER + noise + b"\n", "a file")


@given(st.binary(max_size=200))
def test_no_bytes_break_the_parser_of_probes_but_by_its_own_error(noise):
    with pytest.raises(ProtocolError):
        protocol.parse_transcript(noise, a_case(), a_descriptor())


@given(case_records)
def test_the_name_of_a_case_reads_as_a_pattern_for_it(case):
    pattern = CasePattern.parse(case.name)
    assert pattern is not None
    assert pattern.matches(case)


@given(st.floats(1e-12, 1e12), st.sampled_from(["s", "B", "B/s", "1/s"]))
def test_a_printed_quantity_is_the_quantity_to_three_digits(value, unit):
    factor, printed_unit = prefix_for(value, unit)
    number, _, printed = format_quantity(value, unit).partition(" ")
    assert printed == printed_unit
    # Below the smallest unit fewer digits are printed, of which two hold.
    assert abs(float(number) * factor - value) <= 0.05 * value + 0.0051 * factor * (value >= 0.01 * factor)
