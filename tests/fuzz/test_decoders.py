# SPDX-License-Identifier: Apache-2.0
"""Whatever a probe, a disk or a person hands in: a decoder gives a record or its own error, nothing else."""

import contextlib

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.errors import ProtocolError, SelectionError, SessionFileError, StudyError, UsageError
from steelyard.judge import studies
from steelyard.judge.findings import judge
from steelyard.judge.ledger import ledger
from steelyard.keep import imported
from steelyard.keep import session as sessions
from steelyard.measure import protocol
from steelyard.records import CasePattern
from steelyard.show import formats
from steelyard.units import parse_duration
from tests.making import a_case, a_descriptor
from tests.studies import folder

DESCRIPTOR = a_descriptor("example/steady")
CASE = a_case("example/steady")
META = (
    b'{"type":"meta","protocol":1,"probe":"example/steady","parameters":{},"placement":"same","operations":5,'
    b'"cpus":[1],"search_ns":0}\n'
)
VALUE = b'{"type":"value","operations":5,"wall_ns":100,"counts":{"checked":5},"readings":{}}\n'
END = b'{"type":"end","values":1}\n'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def broken(draw, whole: bytes):
    """Something whole with a piece cut out, doubled or overwritten."""
    start = draw(st.integers(0, len(whole)))
    end = draw(st.integers(start, len(whole)))
    middle = draw(st.binary(max_size=12) | st.just(whole[start:end] * 2))
    return whole[:start] + middle + whole[end:]


@given(st.binary(max_size=400) | broken(META + VALUE + END))
@example(META + VALUE + END)
@example(b"[" * 50_000)
@example(b"\xff\xfe\n")
def test_a_transcript_is_read_or_refused(output):
    with contextlib.suppress(ProtocolError):
        protocol.parse_transcript(output, CASE, DESCRIPTOR)


@given(st.binary(max_size=200) | broken(msgspec.json.encode(DESCRIPTOR)) | JSON.map(msgspec.json.encode))
def test_a_descriptor_is_read_or_refused(output):
    with contextlib.suppress(ProtocolError):
        protocol.parse_descriptor(output, "example/steady")


@pytest.fixture(scope="module")
def a_session_file(request):
    return (request.config.rootpath / "tests/golden/whole.session.jsonl").read_bytes()


@given(data=st.data())
def test_a_session_is_read_and_judged_or_refused(a_session_file, data):
    lines = a_session_file.splitlines(keepends=True)
    number = data.draw(st.integers(0, len(lines) - 1))
    lines[number] = data.draw(broken(lines[number]))
    try:
        session = sessions.decode(b"".join(lines), "file")
    except SessionFileError:
        return
    judge(session)


@given(JSON.map(msgspec.json.encode) | st.binary(max_size=200))
def test_a_foreign_file_is_read_or_refused(contents):
    with contextlib.suppress(SessionFileError):
        formats.read(contents, "file")


@given(st.sampled_from(["benchmarks", "results"]), JSON, st.booleans())
def test_what_looks_like_a_foreign_file_is_read_or_refused(key, inner, context):
    data = {key: inner, "version": "1.0", **({"context": {}} if context else {})}
    with contextlib.suppress(SessionFileError):
        formats.read(msgspec.json.encode(data), "file")


FOREIGN = (
    {
        "version": "1.0",
        "metadata": {"unit": "second", "date": "2020-01-02 03:04:05"},
        "benchmarks": [{"metadata": {"name": "x"}, "runs": [{"values": [1.5, 2.5]}, {"values": [0.5]}]}],
    },
    {
        "context": {"num_cpus": 2, "date": "2020-01-02T03:04:05+00:00"},
        "benchmarks": [{"name": "x/8", "run_type": "iteration", "real_time": 3.5, "time_unit": "ns"}],
    },
    {"results": [{"command": "x/y[a=1]@same", "times": [1.5, 2.5]}]},
    {"results": [{"command": "x", "measurements": [{"time_wall_clock": {"value": 1.5, "unit": "second"}}]}]},
    {
        "benchmark": [{"benchmark_id": "x:y", "unit": "ns", "higher_is_better": 0}],
        "benchmark_score": [
            {"vendor_id": "v", "server_id": "s", "benchmark_id": "x:y", "score": 1.5, "config": {"a": 1}}
        ],
    },
)


@given(st.sampled_from(FOREIGN).map(msgspec.json.encode).flatmap(broken))
@example(msgspec.json.encode(FOREIGN[0]))
@example(msgspec.json.encode(FOREIGN[1]))
@example(msgspec.json.encode(FOREIGN[2]))
@example(msgspec.json.encode(FOREIGN[3]))
@example(msgspec.json.encode(FOREIGN[4]))
def test_a_broken_foreign_file_is_imported_judged_and_exported_or_refused(contents):
    try:
        header, lines = imported.lines(formats.read(contents, "file"), contents, "2020-01-02T03:04:05+00:00", {})
    except SessionFileError:
        return
    session = sessions.decode(b"".join(msgspec.json.encode(line) + b"\n" for line in (header, *lines)), "file")
    assert judge(session).void is None
    for name in ("pyperf", "hyperfine", "openmetrics", "benchstat", "junit", "csv"):
        with contextlib.suppress(SelectionError):
            assert formats.export(ledger(session), name).contents


@given(name=st.text(min_size=1, max_size=30), tool=st.sampled_from(["pyperf", "hyperfine", "google/benchmark"]))
@example(name="call/direct[a=1]@same~x", tool="pyperf")
def test_any_name_is_a_case_that_keeps_its_name(name, tool):
    assert name in imported.case_of(name, tool).name


@given(st.text(max_size=60))
def test_a_case_is_read_or_is_none(text):
    pattern = CasePattern.parse(text)
    assert pattern is None or pattern.probe in text


@given(st.text(max_size=20))
def test_a_duration_is_above_zero_or_refused(text):
    with contextlib.suppress(UsageError):
        assert parse_duration(text) > 0


@given(
    st.sampled_from(["study.toml", "figures.toml", "simulated.toml", "tables.toml", "claims.toml"]),
    broken(
        b'title="x"\n[[claim]]\nid="a"\neach={n=["1"]}\nstatement="b"\n[claim.test]\nrule="flat"\n[[figure]]\nvalue=1\n'
    ),
)
def test_a_file_of_a_study_is_read_or_refused(name, contents):
    with contextlib.suppress(StudyError):
        studies.read("study", {**folder(), name: contents})
