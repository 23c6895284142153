# SPDX-License-Identifier: Apache-2.0
"""The folder of a fleet: whole sessions or none, one a token, and where each token stands."""

import errno
import os
import threading

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import SessionFileError, StorageError, UsageError
from steelyard.keep import fleet, places
from steelyard.keep.fleet import FleetFolder, HeartbeatLog, frame, statuses, token_of, unframe
from steelyard.records import End, FleetJob, FleetOrder, FleetPlan, Heartbeat, Placed
from steelyard.settings import Settings
from tests.making import a_case, a_header

PLAN = FleetPlan(id="0123456789ab", steelyard="0", cases=("null/null@same",), settings=Settings(seed=1))
ORDER = FleetOrder(
    id="00000000", at="2026-01-02T03:04:05+00:00", backend="local", nodes=("n1",), sessions=1, time_limit_s=1
)
END = End(at="2026-01-02T03:04:06+00:00", reason="blocks", blocks=0, wall_s=1.0, timed_s=0.5)


def contents(token="n1.1", plan=PLAN.id, end=True, command=("run",)) -> bytes:
    placed = Placed(plan=plan, token=token, node=fleet.node_of(token))
    lines = [a_header(a_case(), placed=placed, command=command), *([END] if end else [])]
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


@pytest.fixture
def folder(tmp_path):
    made = FleetFolder(tmp_path / "fleet")
    made.begin(PLAN)
    return made


def left_behind(folder) -> list:
    return list((folder.path / "incoming").iterdir())


@pytest.mark.parametrize("node", ["", "../n", "n/1", ".n", "n 1", "n\n", "n[1-3]"])
def test_what_no_node_is_called_is_refused(node):
    with pytest.raises(UsageError, match="not a name of a node"):
        token_of(node, 1)


def test_a_token_gives_its_node_again():
    assert fleet.node_of(token_of("n1.cluster.example", 3)) == "n1.cluster.example"
    with pytest.raises(UsageError):
        fleet.node_of("n1")


def test_a_plan_survives_its_file(folder):
    assert folder.plan() == PLAN
    assert folder.order() is None
    FleetFolder(folder.path).begin(PLAN)


def test_a_folder_of_another_plan_is_refused(folder):
    with pytest.raises(UsageError, match="of another plan"):
        folder.begin(msgspec.structs.replace(PLAN, settings=Settings(seed=2)))


def test_a_fleet_is_ordered_once(folder):
    folder.begin(PLAN, ORDER)
    assert folder.order() == ORDER
    with pytest.raises(UsageError, match="fleet resume"):
        folder.begin(PLAN, ORDER)


@pytest.mark.parametrize("text", [b"", b"{}", b'{"type":"session"}', b"\xff", b"[" * 100_000])
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(UsageError, match="not a plan of a fleet"):
        fleet.read_plan(text, "here")


def test_a_folder_without_a_plan_is_no_fleet(tmp_path):
    with pytest.raises(UsageError, match="not a fleet"):
        FleetFolder(tmp_path).plan()


def test_a_malformed_order_is_named(folder):
    (folder.path / "order.json").write_text("{")
    with pytest.raises(UsageError, match=r"order\.json"):
        folder.order()


def test_a_token_has_one_session_whoever_comes_twice(folder):
    first, second = contents(), contents(command=("another",))
    assert folder.deliver("n1.1", first)
    assert not folder.deliver("n1.1", second)
    assert folder.delivered() == {"n1.1": folder.session("n1.1")}
    assert folder.session("n1.1").read_bytes() == first
    assert left_behind(folder) == []


def test_of_many_that_come_at_once_one_is_kept_and_whole(folder):
    all_of_them = [contents(command=("run", "x" * number * 1000)) for number in range(8)]
    won = []
    threads = [threading.Thread(target=lambda c=c: won.append(folder.deliver("n1.1", c))) for c in all_of_them]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]
    assert folder.session("n1.1").read_bytes() in all_of_them
    assert left_behind(folder) == []


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (contents(end=False), "not complete"),
        (contents()[:-1], "not complete"),
        (contents(token="n2.1"), "not that of n1.1"),
        (contents(plan="ffffffffffff"), "not that of n1.1"),
        (b"", "not a session file"),
        (b"what?\n", "not a line"),
    ],
)
def test_what_is_not_the_whole_session_of_the_token_is_not_taken(folder, given, why):
    with pytest.raises(SessionFileError, match=why):
        folder.deliver("n1.1", given)
    assert folder.delivered() == {}


def test_a_folder_whose_plan_has_not_come_yet_has_no_sessions(tmp_path):
    assert FleetFolder(tmp_path / "later").delivered() == {}


def a_fifo(path):
    os.mkfifo(path)


def a_link_to_nothing(path):
    path.symlink_to(path.parent / "nowhere")


HURT = {
    "garbage": lambda path: path.write_bytes(b"\x00\xff not a session\n"),
    "empty": lambda path: path.write_bytes(b""),
    "half-written": lambda path: path.write_bytes(contents()[:-7]),
    "without its end": lambda path: path.write_bytes(contents(end=False)),
    "with a damaged line": lambda path: path.write_bytes(contents().replace(b'{"type":"end"', b'{}\n{"type":"end"')),
    "of another token": lambda path: path.write_bytes(contents(token="n2.1")),
    "of another plan": lambda path: path.write_bytes(contents(plan="ffffffffffff")),
    "of another version": lambda path: path.write_bytes(contents().replace(b'"schema":1', b'"schema":99')),
    "a FIFO": a_fifo,
    "a folder": lambda path: path.mkdir(),
    "a link to nothing": a_link_to_nothing,
}


@pytest.mark.parametrize("hurt", HURT.values(), ids=HURT.keys())
def test_what_a_node_left_in_place_of_a_session_hurts_that_node_only(folder, hurt):
    folder.deliver("n2.1", contents("n2.1"))
    path = folder.session("n1.1")
    hurt(path)
    assert set(folder.delivered()) == {"n2.1"}, "it does not count as there, so it is measured again"
    left_out = []
    judged = [session.header.placed.token for session in places.sessions([str(folder.path)], left_out.append)]
    assert judged == ["n2.1"], "a report judges what status and resume count"
    assert len(left_out) <= 1
    assert folder.deliver("n1.1", contents())
    assert set(folder.delivered()) == {"n1.1", "n2.1"}
    assert path.read_bytes() == contents()
    assert len(list(path.parent.glob("n1.1*.unusable-*"))) == 1, "what lay there is set aside and kept"


def test_a_fifo_in_place_of_what_a_fleet_is_read_from_hangs_nobody(folder):
    os.mkfifo(folder.path / "order.json")
    with pytest.raises(UsageError, match="not a regular file"):
        folder.order()
    (folder.path / "words" / "n1.1").mkdir(parents=True)
    os.mkfifo(folder.path / "words" / "n1.1" / "1.jsonl")
    assert folder.heartbeats() == {}
    (folder.path / "fleet.json").unlink()
    os.mkfifo(folder.path / "fleet.json")
    with pytest.raises(UsageError, match="not a regular file"):
        folder.plan()


def test_a_token_that_leads_elsewhere_is_not_taken(folder):
    with pytest.raises(SessionFileError, match="not a token"):
        folder.deliver("../plan.1", contents())


@pytest.mark.parametrize("at", ["fsync", "link"])
def test_without_room_nothing_is_kept_and_it_is_said(folder, monkeypatch, at):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, at, full)
    with pytest.raises(StorageError, match=r"No space left on device.*fleet resume"):
        folder.deliver("n1.1", contents())
    monkeypatch.undo()
    assert folder.delivered() == {}
    assert left_behind(folder) == []
    assert folder.deliver("n1.1", contents())


def test_a_file_system_without_links_serves_as_well(folder, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert folder.deliver("n1.1", contents())
    assert not folder.deliver("n1.1", contents(command=("another",)))
    assert folder.session("n1.1").read_bytes() == contents()
    assert left_behind(folder) == []


def test_a_link_whose_answer_was_lost_was_made(folder, monkeypatch):
    link = os.link

    def made_but_not_told(source, target):
        link(source, target)
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(os, "link", made_but_not_told)
    assert folder.deliver("n1.1", contents())


def test_what_a_killed_one_began_to_bring_in_is_removed_when_it_is_old(folder):
    old, young = (folder.path / "incoming" / f"n1.1.session.jsonl.{name}" for name in ("old", "young"))
    for torn in (old, young):
        torn.write_bytes(b"{")
    os.utime(old, (0, 0))
    folder.deliver("n1.1", contents())
    assert left_behind(folder) == [young]


# --- words ------------------------------------------------------------------------------------------------------------


def test_heartbeats_are_read_again_by_token_and_attempt(folder):
    for attempt in range(2):
        heartbeats = HeartbeatLog(folder, "n1.1", job="17", restart=attempt)
        heartbeats.add(Heartbeat(at=0, what="begun"))
        heartbeats.add(Heartbeat(at=0, what="ended", code=74, said="no room"))
    [first, second] = folder.heartbeats()["n1.1"]
    assert [word.what for word in first] == ["begun", "ended"]
    assert (second[0].job, second[0].restart) == ("17", 1)
    assert first[0].host
    assert first[0].at <= second[0].at


def test_torn_heartbeats_are_passed_over(folder):
    HeartbeatLog(folder, "n1.1", "", 0).add(Heartbeat(at=0, what="begun"))
    HeartbeatLog(folder, "no token", "", 0).add(Heartbeat(at=0, what="begun"))
    assert list(folder.heartbeats()) == ["n1.1"]
    [path] = (folder.path / "words" / "n1.1").iterdir()
    path.write_bytes(path.read_bytes() + b'nonsense\n{"at":1')
    assert [word.what for word in folder.heartbeats()["n1.1"][0]] == ["begun"]
    path.write_bytes(b"")
    assert folder.heartbeats() == {}


def test_heartbeats_that_cannot_be_written_stop_nothing(tmp_path):
    (tmp_path / "words").write_text("in the way")
    HeartbeatLog(FleetFolder(tmp_path), "n1.1", "", 0).add(Heartbeat(at=0, what="begun"))
    HeartbeatLog(None, "n1.1", "", 0).add(Heartbeat(at=0, what="begun"))


# --- statuses --------------------------------------------------------------------------------------------------------


def status(*words: Heartbeat, job: FleetJob | None = None, delivered=False, why_not=None, now=100.0):
    [found] = statuses(
        ["n1.1"],
        ["n1.1"] if delivered else [],
        {"n1.1": [list(words)]} if words else {},
        {"n1.1": job} if job else {},
        {"n1.1": why_not} if why_not else {},
        now=now,
    )
    return found


BEGUN = Heartbeat(at=90, what="begun")
MEASURING = Heartbeat(at=99, what="measuring", done=3, of=9, left_s=5.0)
FAILED = Heartbeat(at=99, what="ended", code=74, said="no room in /tmp")
QUEUED = FleetJob(job="1", state="queued", said="Resources")
RUNNING = FleetJob(job="1", state="running")
DEAD = FleetJob(job="1", state="ended", said="its node died")


def test_a_session_that_is_there_is_there_whatever_else_is_said():
    assert status(FAILED, job=DEAD, delivered=True, why_not="n1 is down").state == "delivered"


def test_what_is_said_of_a_token():
    assert status().state == "missing"
    assert (status(job=QUEUED).state, status(job=QUEUED).said) == ("queued", "Resources")
    assert status(job=RUNNING).state == "waiting"
    assert status(BEGUN, job=RUNNING).said == "begun"
    assert status(why_not="n1 is drained").said == "n1 is drained"
    assert status(job=QUEUED, why_not="n1 is drained").state == "missing"
    found = status(BEGUN, MEASURING, job=RUNNING)
    assert (found.state, found.done, found.of, found.left_s, found.attempts) == ("measuring", 3, 9, 5.0, 1)


def test_one_that_failed_says_why_itself_and_a_killed_one_by_its_engine():
    assert status(BEGUN, FAILED, job=DEAD).said == "no room in /tmp"
    assert status(BEGUN, FAILED).state == "failed"
    assert status(BEGUN, MEASURING, job=DEAD).said == "its node died"
    assert status(job=FleetJob(job="1", state="ended")).said == "it ended and left no heartbeat"


def test_of_one_that_was_told_to_stop_it_is_said_why():
    stopped = Heartbeat(at=99, what="ended", code=fleet.TOLD_TO_STOP, said="it was told to stop")
    assert status(BEGUN, stopped, job=DEAD).said == "its node died"
    assert status(BEGUN, stopped, job=FleetJob(job="1", state="ended")).said == "it was told to stop"
    assert status(BEGUN, stopped).said == "it was told to stop"


def test_an_attempt_that_follows_a_failed_one_counts_alone():
    assert status(BEGUN, FAILED, job=RUNNING).state == "waiting"


def test_long_silence_is_told_from_work():
    silent = status(BEGUN, MEASURING, now=99 + 600)
    assert silent.state == "failed"
    assert "no heartbeat for 10 minutes" in silent.said
    assert status(BEGUN, MEASURING, job=RUNNING, now=99 + 600).state == "silent"
    assert status(BEGUN, MEASURING, now=99 + 60).state == "measuring"


# --- frames -----------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=3000), st.lists(st.text(alphabet="abc -$", max_size=30), max_size=3))
def test_a_session_comes_whole_out_of_the_output_of_a_job(session, around):
    text = "\n".join([*around, frame("n1.1", PLAN.id, session) + "\n".join(around), frame("n2.1", PLAN.id, b"x")])
    found = list(unframe(text.splitlines()))
    assert [(one.token, one.contents) for one in found] == [("n1.1", session), ("n2.1", b"x")]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda lines: lines[:-1], "no end"),
        (lambda lines: [lines[0], *lines], "no end"),
        (lambda lines: [lines[0], "slurmstepd: error: ***", *lines[1:]], "damaged"),
        (lambda lines: [lines[0], *lines[2:]], "damaged"),
        (lambda lines: [*lines[:-1], lines[-1].replace(lines[-1][29:33], "0123")], "digest"),
    ],
)
def test_a_session_that_is_not_whole_is_not_taken_out(spoil, why):
    lines = frame("n1.1", PLAN.id, os.urandom(200)).splitlines()
    found = next(iter(unframe(spoil(lines))))
    assert found.contents is None
    assert why in found.wrong
    with pytest.raises(SessionFileError, match="not whole"):
        found.whole()
