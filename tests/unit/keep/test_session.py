# SPDX-License-Identifier: Apache-2.0
import io
from pathlib import Path

import msgspec
import pytest

from steelyard.errors import SessionFileError, UsageError
from steelyard.keep import session as sessions
from steelyard.keep.session import SessionWriter
from steelyard.records import Audit, Disturbance, End, Plan, Resumed, Skip
from tests.making import a_case, a_failed_run, a_header, a_planned, a_run

CASE = a_case()
HEADER = a_header(CASE)
DISTURBANCE = Disturbance(what="noise", advice="close the window", severity="warning")
LINES = [
    Skip(subject="switch/gosched", reason="no Go compiler"),
    Audit(moment="before", disturbances=(DISTURBANCE,)),
    a_run(CASE, 0, role="pilot"),
    Plan(cases=(a_planned(CASE),), blocks=2),
    a_run(CASE, 1, 1e-6, 2e-6, caveats=("a doubt",)),
    Resumed(at="2026-01-02T03:05:00+00:00", machine_key="0123456789ab"),
    a_failed_run(CASE, 2, leftovers=("1 processes outlived the probe and were killed",)),
    End(at="2026-01-02T03:06:00+00:00", reason="blocks", blocks=2, wall_s=1.0, timed_s=0.5),
]


def written(path, *lines):
    with SessionWriter.create(path, HEADER) as writer:
        for line in lines:
            writer.append(line)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some" / "folder" / "a.session.jsonl"


def test_what_is_written_is_read(path):
    session = sessions.read(written(path, *LINES))
    assert session.path == str(path)
    assert session.header == HEADER
    assert session.skips == (LINES[0],)
    assert session.audits == (LINES[1],)
    assert session.runs == (LINES[2], LINES[4], LINES[6])
    assert session.plan == LINES[3]
    assert session.resumed == (LINES[5],)
    assert session.end == LINES[7]


def test_each_line_is_in_the_file_when_append_returns(path):
    with SessionWriter.create(path, HEADER) as writer:
        for number, line in enumerate(LINES, start=2):
            writer.append(line)
            assert len(path.read_bytes().splitlines()) == number


def test_a_session_that_is_not_over_has_no_end(path):
    session = sessions.read(written(path, *LINES[:4]))
    assert session.end is None
    assert session.plan is not None


@pytest.mark.parametrize("keep", [0, 1, 20])
def test_a_torn_last_line_is_passed_over_and_then_written_over(path, keep):
    written(path, *LINES[:3])
    whole = path.read_bytes()
    path.write_bytes(whole + msgspec.json.encode(LINES[3])[:keep])
    assert sessions.read(path).runs == (LINES[2],)
    with SessionWriter.reopen(path) as writer:
        writer.append(LINES[3])
    assert path.read_bytes() == whole + msgspec.json.encode(LINES[3]) + b"\n"


def test_a_torn_header_is_no_session(path):
    path.parent.mkdir(parents=True)
    path.write_bytes(msgspec.json.encode(HEADER)[:50])
    with pytest.raises(SessionFileError, match="its first line is not a session header"):
        sessions.read(path)


@pytest.mark.parametrize(
    "bad",
    [b"what?", b"", b"{}", b"[]", b'{"type":"run"}', b'{"type":"story"}', b"\xff\xfe", b'{"a":' + b"[" * 100_000],
    ids=["words", "empty", "no type", "a list", "no fields", "unknown type", "no text", "endless nesting"],
)
def test_a_malformed_line_is_named_by_file_and_number(path, bad):
    lines = [msgspec.json.encode(line) for line in (HEADER, *LINES)]
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\n".join([*lines[:4], bad, *lines[4:]]) + b"\n")
    with pytest.raises(SessionFileError) as refused:
        sessions.read(path)
    assert str(refused.value).startswith(f"{path}:5: not a line of a session file")


def test_a_file_of_another_schema_is_refused():
    line = msgspec.json.encode(msgspec.structs.replace(HEADER, schema=2)) + b"\n"
    with pytest.raises(SessionFileError, match="has schema 2; this Steelyard reads schema 1"):
        sessions.decode(line, "a file")


def test_fields_of_a_newer_steelyard_are_passed_over():
    record = {**msgspec.to_builtins(HEADER), "type": "session", "moon": "full"}
    assert sessions.decode(msgspec.json.encode(record) + b"\n", "a file").header == HEADER


@pytest.mark.parametrize(
    "contents", [b"", b"\n", msgspec.json.encode(LINES[0]) + b"\n"], ids=["empty", "blank", "no header"]
)
def test_what_has_no_header_is_no_session(contents):
    with pytest.raises(SessionFileError):
        sessions.decode(contents, "a file")


def test_what_is_not_there_is_told(tmp_path):
    with pytest.raises(SessionFileError, match="cannot be read: No such file"):
        sessions.read(tmp_path / "nothing")


def test_a_session_is_never_overwritten(path):
    written(path, *LINES)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="sessions are never overwritten"):
        SessionWriter.create(path, HEADER)
    assert path.read_bytes() == before


def test_a_folder_that_is_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="choose another place with -o"):
        SessionWriter.create(tmp_path / "file" / "a.session.jsonl", HEADER)


class FullDisk(io.BytesIO):
    """A file on a disk without room."""

    name = "a.session.jsonl"

    def write(self, data):
        """Fail as the kernel would say it."""
        raise OSError(28, "No space left on device")


def test_a_full_disk_says_what_is_kept_and_how_to_go_on():
    with pytest.raises(SessionFileError, match=r"a\.session\.jsonl: cannot write \(No space left.*--resume"):
        SessionWriter(FullDisk()).append(LINES[0])


def test_the_device_that_is_always_full():
    with pytest.raises(SessionFileError, match="No space left"), SessionWriter(Path("/dev/full").open("wb")) as writer:
        writer.append(LINES[0])


def test_where_sessions_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("STEELYARD_SESSIONS", str(tmp_path))
    assert sessions.sessions_folder() == tmp_path
    monkeypatch.delenv("STEELYARD_SESSIONS")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert str(sessions.sessions_folder()) == "/data/steelyard/sessions"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert sessions.sessions_folder().name == "sessions"


def test_the_newest_session_is_the_latest(monkeypatch, tmp_path):
    monkeypatch.setenv("STEELYARD_SESSIONS", str(tmp_path))
    with pytest.raises(SessionFileError, match="`steelyard run` makes one"):
        sessions.latest()
    for moment in ("20260102T030405", "20260103T000000", "20251231T235959"):
        (tmp_path / f"{moment}-key-0000.session.jsonl").touch()
    assert sessions.latest().name.startswith("20260103")


def test_two_sessions_that_start_together_have_paths_of_their_own():
    assert sessions.new_path("key") != sessions.new_path("key")
