# SPDX-License-Identifier: Apache-2.0
"""A fleet without a cluster: the whole path on this machine, and what is in its way. test_slurm.py has a real Slurm."""

import itertools
import json
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

import steelyard
from steelyard.__main__ import main
from steelyard.errors import (
    BackendError,
    BusyError,
    CasesFailedError,
    IncompleteError,
    NothingMeasuredError,
    OutputError,
    StorageError,
    UsageError,
    VersionError,
)
from steelyard.keep import session as sessions
from steelyard.keep.fleet import FleetFolder, frame
from steelyard.records import Placed, Session
from tests import processes
from tests.integration.laboratory import QUICK, a_laboratory, words
from tests.many import a_variation, write

RUN = ("fleet", "run", "plan.json", "--backend", "local", "--even-if-busy", "-o", "fleet")


def planned(laboratory, *selectors: str) -> FleetFolder:
    done = laboratory.do("fleet", "plan", *selectors, *QUICK)
    assert done.returncode == 0, done.stderr
    return FleetFolder(laboratory.folder / "fleet")


def sessions_of(folder: FleetFolder) -> dict[str, Session]:
    return {token: sessions.read(path) for token, path in folder.delivered().items()}


def assert_nothing_overlaps(found) -> None:
    """No run of any session began before the one before it had ended: each says when it began and how long it was."""
    spans = sorted((run.started, run.started + run.wall_s) for session in found for run in session.runs)
    # The wall time of a run is taken by a clock that does not jump; the moment of its beginning by one that may.
    assert all(first[1] <= second[0] + 0.01 for first, second in itertools.pairwise(spans))


def node(laboratory, *arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return laboratory.do("fleet", "node", *arguments, "--even-if-busy", **more)


def test_the_same_plan_on_each_node_brings_a_session_a_token(laboratory, rogue):
    laboratory.add(rogue, "rogue/well")
    folder = planned(laboratory, "rogue", "null")
    done = laboratory.do(*RUN, "--nodes", "a,b", "--sessions", "2")
    assert done.returncode == 0, done.stderr
    assert "4 of 4 sessions are there" in done.stderr
    found = sessions_of(folder)
    assert set(found) == {"a.1", "a.2", "b.1", "b.2"}
    plan = json.loads((laboratory.folder / "plan.json").read_text())
    for token, session in found.items():
        assert session.end is not None
        assert [case.name for case in session.header.selection] == plan["cases"]
        placed = session.header.placed
        assert (placed.token, placed.node, placed.backend, placed.plan) == (token, token[0], "local", plan["id"])
        assert [audit.moment for audit in session.audits] == ["before", "after"]
    assert len({session.header.seed for session in found.values()}) == 4
    assert_nothing_overlaps(found.values())

    before = {path: path.read_bytes() for path in folder.delivered().values()}
    assert "fleet resume" in words(laboratory.do(*RUN).stderr)
    resumed = laboratory.do("fleet", "resume", "fleet")
    assert (resumed.returncode, len(laboratory.run_ids())) == (0, sum(count(session) for session in found.values()))
    assert {path: path.read_bytes() for path in folder.delivered().values()} == before
    status = laboratory.do("fleet", "status", "fleet", "--json")
    assert Counter(one["state"] for one in json.loads(status.stdout)) == {"delivered": 4}
    laboratory.assert_nothing_is_left()


def count(session: Session) -> int:
    return sum(run.case.startswith("rogue") for run in session.runs)


def test_killing_node_parts_clients_and_probes_loses_no_session_and_makes_none_twice(laboratory, rogue):
    laboratory.add(rogue, "rogue/slow")
    folder = planned(laboratory, "rogue")

    with laboratory.start(*RUN, "--nodes", "a,b") as client:
        laboratory.catch(client, lambda: measuring(folder, "a.1"), "the first session is being measured")
        [part] = Path(f"/proc/{client.pid}/task/{client.pid}/children").read_text().split()
        processes.kill(int(part))
        laboratory.catch(client, lambda: measuring(folder, "b.1"), "the second session is being measured")
        client.kill()
        _, err = client.communicate()
    assert "a.1: failed: it was ended by SIGKILL" in words(err)
    # The part of a killed client goes on; its session counts, and is not measured twice.
    with laboratory.start("fleet", "resume", "fleet") as client:
        laboratory.catch(client, lambda: processes.kill_one(probes(laboratory)), "a probe is at work, and is killed")
        _, err = client.communicate(timeout=3 * processes.PATIENCE_S)
    if client.returncode:  # on a busy machine it may have been the pilot of the one case that there is
        assert "no selected case could be measured" in words(err)
        again = laboratory.do("fleet", "resume", "fleet")
        assert again.returncode == 0, again.stderr
    found = sessions_of(folder)
    assert set(found) == {"a.1", "b.1"}
    assert all(session.end for session in found.values())
    assert_nothing_overlaps(found.values())
    processes.until(lambda: processes.gone(laboratory.mark), "nothing lives on")


def measuring(folder: FleetFolder, token: str) -> bool:
    return any(word.what == "measuring" for attempt in folder.heartbeats().get(token, ()) for word in attempt)


def probes(laboratory) -> list[int]:
    return [pid for pid in processes.marked(laboratory.mark) if processes.name_of(pid) == "slow"]


def test_a_case_that_fails_is_told_and_the_session_is_there(laboratory, rogue):
    laboratory.add(rogue, "rogue/fails")
    folder = planned(laboratory, "rogue", "null")
    done = node(laboratory, "plan.json", "--to", "fleet", "--node", "a")
    assert done.returncode == CasesFailedError.exit_code, done.stderr
    assert "rogue/fails@same failed in it" in words(done.stderr)
    assert set(folder.delivered()) == {"a.1"}
    again = node(laboratory, "plan.json", "--to", "fleet", "--node", "a")
    assert (again.returncode, "is there already" in again.stderr) == (0, True)


def test_what_a_machine_does_not_have_is_a_skip_and_nothing_at_all_an_error(laboratory, rogue):
    laboratory.add(rogue, "rogue/well")
    folder = planned(laboratory, "rogue", "null")
    (laboratory.folder / "probes" / "rogue" / "well").unlink()
    assert node(laboratory, "plan.json", "--to", "fleet", "--node", "a").returncode == 0
    [session] = sessions_of(folder).values()
    assert [skip.subject for skip in session.skips if skip.subject != "energy"] == ["rogue/well@same"]
    plan = folder.plan()
    bare = msgspec.structs.replace(plan, cases=("rogue/well@same",))
    (laboratory.folder / "bare.json").write_bytes(msgspec.json.encode(bare))
    done = node(laboratory, "bare.json", "--to", "-")
    assert done.returncode == NothingMeasuredError.exit_code
    assert 'no probe matches "rogue/well@same"' in words(done.stderr)


def test_another_version_is_refused_and_said(laboratory):
    folder = planned(laboratory, "null")
    plan = laboratory.folder / "plan.json"
    plan.write_text(plan.read_text().replace(f'"{steelyard.__version__}"', '"0.0.7"'))
    done = laboratory.do(*RUN, "--nodes", "a,b")
    assert done.returncode == IncompleteError.exit_code
    for name in ("a.1", "b.1"):
        assert f"{name}: failed: this is Steelyard {steelyard.__version__} and the plan is of 0.0.7" in done.stderr
    assert folder.delivered() == {}
    assert node(laboratory, "plan.json", "--to", "fleet").returncode == VersionError.exit_code


def test_a_machine_that_is_not_idle_is_not_measured_and_who_uses_it_is_said(laboratory):
    folder = planned(laboratory, "null")
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], env=laboratory.environment())
        for _ in os.sched_getaffinity(0)
    ]
    try:
        done = laboratory.do("fleet", "node", "plan.json", "--to", "fleet", "--idle-wait", "100ms")
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert done.returncode == BusyError.exit_code
    assert "this machine is not idle (" in words(done.stderr)
    assert folder.delivered() == {}


IN_A_SMALL_DISK = """
mount -t tmpfs -o size=36k none fleet || exit 77
"$@"; echo "first: $?"
ls fleet/sessions fleet/incoming
mount -o remount,size=4m fleet
"$@"; echo "second: $?"
ls fleet/sessions fleet/incoming
"""


def test_a_full_disk_in_the_middle_of_a_session_keeps_nothing_of_it_and_the_next_time_all(laboratory):
    planned(laboratory, "null")
    (laboratory.folder / "fleet").mkdir()
    part = [*processes.command("fleet", "node", "plan.json", "--to", "fleet", "--node", "a", "--even-if-busy")]
    alone = ["unshare", "-m" if os.geteuid() == 0 else "-Urm", "sh", "-c", IN_A_SMALL_DISK, "sh", *part]
    done = subprocess.run(
        alone, cwd=laboratory.folder, env=laboratory.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no file system may be mounted here, not even in a namespace of one's own")
    first, second = done.stdout.split("first: ")[1].split("second: ")
    assert first.splitlines()[0] == str(StorageError.exit_code), done.stderr
    assert "a.1" not in first
    assert "No space left on device" in done.stderr
    assert "nothing of it was kept" in words(done.stderr)
    assert second.splitlines()[0] == "0", done.stderr
    assert second.count("a.1.session.jsonl") == 1


def test_a_machine_without_room_of_its_own_says_so(laboratory):
    folder = planned(laboratory, "null")
    limit = (4000, resource.RLIM_INFINITY)
    done = node(
        laboratory,
        *("plan.json", "--to", "fleet", "--node", "a"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert done.returncode == StorageError.exit_code, done.stderr
    assert "nothing of the session was kept: make room there" in words(done.stderr)
    assert folder.delivered() == {}
    assert folder.heartbeats()["a.1"][-1][-1].code == StorageError.exit_code


def test_a_part_that_is_told_to_stop_leaves_nothing(laboratory, rogue):
    laboratory.add(rogue, "rogue/slow")
    folder = planned(laboratory, "rogue")
    with laboratory.start("fleet", "node", "plan.json", "--to", "fleet", "--node", "a", "--even-if-busy") as part:
        laboratory.catch(part, lambda: probes(laboratory), "a probe is at work")
        part.send_signal(signal.SIGTERM)
        _, err = part.communicate(timeout=processes.PATIENCE_S)
    assert part.returncode == 143
    assert "Traceback" not in err
    assert folder.delivered() == {}
    assert folder.heartbeats()["a.1"][-1][-1].said == "it was told to stop"
    laboratory.assert_nothing_is_left()


def test_without_a_shared_folder_sessions_come_as_output(laboratory):
    planned(laboratory, "null")
    plan = (laboratory.folder / "plan.json").read_text()
    with laboratory.start("fleet", "node", "plan.json", "--to", "-", "--node", "a", "--even-if-busy") as part:
        out, err = part.communicate(timeout=processes.PATIENCE_S)
    assert part.returncode == 0, err
    (laboratory.folder / "a.out").write_text(f"Welcome to a!\n{out}")
    done = laboratory.do("fleet", "collect", "fleet", "a.out", "--plan", "plan.json")
    assert (done.returncode, done.stdout) == (0, "1 new session brought in, 0 there already\n"), done.stderr
    folder = FleetFolder(laboratory.folder / "fleet")
    assert sessions_of(folder)["a.1"].header.placed.plan == json.loads(plan)["id"]
    assert "0 new sessions brought in, 1 there already" in laboratory.do("fleet", "collect", "fleet", "a.out").stdout
    (laboratory.folder / "a.out").write_text(frame("b.1", "00", b"torn")[:-10])
    torn = laboratory.do("fleet", "collect", "fleet", "a.out")
    assert torn.returncode == IncompleteError.exit_code
    assert "the session of b.1 is not whole" in words(torn.stderr)
    (laboratory.folder / "a.out").write_text("nothing\n")
    assert laboratory.do("fleet", "collect", "fleet", "a.out").returncode == IncompleteError.exit_code
    assert set(folder.delivered()) == {"a.1"}


REFUSALS = {
    "no plan": (["run", "nowhere.json"], UsageError, "cannot be read"),
    "something else": (["run", "other.json"], UsageError, "not a plan of a fleet"),
    "no backend": (["run", "plan.json", "--engine", "smoke"], BackendError, "no backend"),
    "a partition of this machine": (
        ["run", "plan.json", "--backend", "local", "--partition", "x"],
        BackendError,
        "part",
    ),
    "no node": (["run", "plan.json", "--backend", "local", "--nodes", "../x"], UsageError, "not a name of a node"),
    "a node twice": (["run", "plan.json", "--backend", "local", "--nodes", "a,a"], UsageError, "names a node twice"),
    "no session": (["run", "plan.json", "--sessions", "0"], UsageError, "at least 1"),
    "sbatch for nothing": (["run", "plan.json", "--backend", "local", "--sbatch=-A x"], UsageError, "--backend slurm"),
    "no fleet": (["status", "."], UsageError, "not a fleet"),
    "nothing to resume": (["resume", "."], UsageError, "not a fleet"),
    "a plan that is there": (["plan", "null"], OutputError, "exists"),
    "a wait that is none": (["node", "plan.json", "--to", "x", "--lock-wait", "soon"], UsageError, "not a duration"),
}


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    with a_laboratory(tmp_path_factory.mktemp("refusing")) as made:
        planned(made, "null")
        (made.folder / "other.json").write_text("{}")
        yield made


@pytest.mark.parametrize(("arguments", "error", "sentence"), REFUSALS.values(), ids=REFUSALS.keys())
def test_bad_input_gets_one_sentence(refusing, arguments, error, sentence, monkeypatch, capsys):
    monkeypatch.chdir(refusing.folder)
    before = sorted(refusing.folder.iterdir())
    assert main(["fleet", *arguments]) == error.exit_code
    said = capsys.readouterr().err
    assert sentence in words(said)
    assert "Traceback" not in said
    assert sorted(refusing.folder.iterdir()) == before


# --- judging a fleet --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Two folders of made-up fleets of twelve machines; in the second a new kernel makes all a fifth slower."""
    with a_laboratory(tmp_path_factory.mktemp("judged")) as made:
        for number, (name, factor) in enumerate((("old", 1.0), ("new", 1.2))):
            (made.folder / name).mkdir()
            for machine in range(12):
                lines = a_variation(100 * number + machine, factor=factor, noise=0.002)
                placed = Placed(plan="p", token=f"n{machine}.1", node=f"n{machine}")
                head = msgspec.structs.replace(lines[0], placed=placed, started=f"2026-0{number + 1}-01T10:00:00+00:00")
                write(made.folder / name / f"n{machine}.1.session.jsonl", [head, *lines[1:]])
        yield made


def test_a_report_judges_each_machine_beside_the_others(judged):
    done = judged.do("fleet", "report", "old", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["name"] for one in found] == [f"n{number}" for number in range(12)]
    assert not any(one["verdict"] == "different" for one in found)
    text = judged.do("fleet", "report", "old").stdout
    assert "12 machines of key 0123456789ab" in text
    assert "found nine times in ten from" in text
    empty = judged.do("fleet", "report", "nowhere")
    assert (empty.returncode, "nowhere is not a session file" in words(empty.stderr)) == (66, True)


def test_two_kernels_are_compared_over_their_machines(judged):
    done = judged.do("fleet", "compare", "old", "new", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {(one["verdict"], one["n"]) for one in found} == {("different", 12)}
    assert all(one["low"] < 1.2 < one["high"] * 1.01 for one in found)
    assert "12 machines of key" in judged.do("fleet", "compare", "old", "new").stdout


def test_a_packed_fleet_says_what_its_session_files_say(judged):
    packed = judged.do("fleet", "pack", "old", "new", "-o", "store")
    assert packed.stdout == "24 sessions packed into store, 0 were there already\n", packed.stderr
    again = judged.do("fleet", "pack", "old", "-o", "store")
    assert "0 sessions packed into store, 12 were there already" in again.stdout
    by_files, by_store = (
        json.loads(judged.do("fleet", "report", *arguments, "--json").stdout) for arguments in (["new"], ["store"])
    )
    assert [one | {"furthest_ratio": 0} for one in by_store] == [one | {"furthest_ratio": 0} for one in by_files]
    older = judged.do("fleet", "report", "store", "--month", "2026-01", "--json")
    assert older.stdout == judged.do("fleet", "report", "old", "--json").stdout
    sql = "SELECT month, count(DISTINCT node) AS machines FROM sessions GROUP BY month ORDER BY month"
    asked = judged.do("fleet", "query", sql, "store", "--format", "csv")
    assert asked.stdout.split() == ["month,machines", "2026-01,12", "2026-02,12"]
    for arguments, sentence in (
        (["report", "store", "--month", "2025-01"], "has no month 2025-01; it has 2026-01 to 2026-02"),
        (["report", "store", "old"], "store is a store: give it alone"),
        (["report", "old", "--month", "2026-01"], "--month is for a store"),
        (["query", "DROP VIEW runs", "store"], "one SELECT"),
    ):
        refused = judged.do("fleet", *arguments)
        assert (refused.returncode, sentence in words(refused.stderr)) == (UsageError.exit_code, True), refused.stderr


def test_an_object_store_serves_as_well_as_a_folder(judged):
    pytest.importorskip("fsspec")
    done = judged.do("fleet", "pack", f"file://{judged.folder}/old", "-o", f"file://{judged.folder}/remote")
    assert done.stdout.startswith("12 sessions packed"), done.stderr
    by_url = judged.do("fleet", "report", f"file://{judged.folder}/remote", "--json")
    assert by_url.returncode == 0, by_url.stderr
    assert by_url.stdout == judged.do("fleet", "report", "old", "--json").stdout
    unknown = judged.do("fleet", "report", "smoke://x")
    assert (unknown.returncode, "Traceback" in unknown.stderr) == (UsageError.exit_code, False)
