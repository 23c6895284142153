# SPDX-License-Identifier: Apache-2.0
"""The lab is ended at any moment: nothing is left behind, and the session goes on without doing anything twice."""

import json
import re
import resource
import signal
from collections import Counter

import msgspec
import pytest

from steelyard.errors import CasesFailedError, SessionFileError
from steelyard.records import Run
from tests import processes
from tests.integration.laboratory import QUICK, a_laboratory, words


def lines_of(laboratory, kind: str, **fields) -> int:
    """How many whole lines of a kind the session file has by now."""
    path = laboratory.session_path
    contents = path.read_bytes() if path.exists() else b""
    records = [json.loads(line) for line in contents[: contents.rfind(b"\n") + 1].splitlines()]
    return sum(
        record["type"] == kind and all(record[name] == value for name, value in fields.items()) for record in records
    )


MOMENTS = {
    "before the pilot": lambda lab: lines_of(lab, "session") == 1,
    "in the pilot": lambda lab: lines_of(lab, "run", role="pilot") >= 1,
    "in the first block": lambda lab: lines_of(lab, "run", role="block") >= 1,
    "in the second block": lambda lab: lines_of(lab, "run", block=2) >= 2,
    "while a probe is at work": lambda lab: any(map(processes.ipc_objects, lab.run_ids())),
    "in the last sentinel": lambda lab: lines_of(lab, "run", role="sentinel", block=3) >= 1,
}


def started(laboratory, rogue):
    """A session with a probe that always has a child and objects about it, and with one that is slow."""
    laboratory.add(rogue, "rogue/messy", "rogue/slow")
    return laboratory.start("run", "rogue", "null", *QUICK, "-o", laboratory.session_path)


def assert_each_once(runs: tuple[Run, ...]) -> None:
    counted = Counter((run.role, run.block, run.case, run.order, run.attempt) for run in runs)
    assert set(counted.values()) == {1}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS.keys())
def test_a_lab_that_is_killed_leaves_nothing_and_its_session_goes_on(laboratory, rogue, moment):
    with started(laboratory, rogue) as process:
        laboratory.catch(process, lambda: moment(laboratory), "the moment to kill the lab")
        process.kill()
        process.communicate()
    processes.until(lambda: processes.gone(laboratory.mark), "no probe, no child and no launcher lives on", 20)
    assert [name for run_id in laboratory.run_ids() for name in processes.ipc_objects(run_id)] == []
    # The folder of the dead lab itself, with its mark, stays for the next lab; those of its runs the launcher removed.
    assert {path.name for path in laboratory.temporary.glob("*/*")} <= {"lab"}

    before = laboratory.session_path.read_bytes()
    if lines_of(laboratory, "end"):
        return  # the end was written between the moment and the kill: there is nothing to go on with
    resumed = laboratory.do("run", "--resume", laboratory.session_path)
    assert resumed.returncode == 0, resumed.stderr
    after = laboratory.session_path.read_bytes()
    assert after.startswith(before[: before.rfind(b"\n") + 1])
    session = laboratory.session()
    assert session.end is not None
    assert len(session.resumed) == 1
    assert_each_once(session.runs)
    cases = {planned.case.name for planned in session.plan.cases}
    measured = {(run.block, run.case) for run in session.runs if run.role == "block" and run.status == "ok"}
    assert measured == {(block, case) for block in (1, 2) for case in cases}
    assert len(laboratory.run_ids()) - sum(run.case.startswith("rogue") for run in session.runs) <= 1
    laboratory.assert_nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupting_keeps_the_runs_and_says_how_to_go_on(laboratory, rogue, number):
    with started(laboratory, rogue) as process:
        laboratory.catch(process, lambda: MOMENTS["in the first block"](laboratory), "the first block")
        process.send_signal(number)
        _, err = process.communicate(timeout=processes.PATIENCE_S)
    assert process.returncode == 128 + number
    assert f"steelyard run --resume {laboratory.session_path}" in words(err)
    assert "Traceback" not in err
    laboratory.assert_nothing_is_left()
    assert laboratory.do("run", "--resume", laboratory.session_path).returncode == 0
    assert_each_once(laboratory.session().runs)


@pytest.fixture(scope="module")
def whole(rogue, tmp_path_factory):
    """The lines of a whole session over a probe that behaves."""
    with a_laboratory(tmp_path_factory.mktemp("whole")) as laboratory:
        laboratory.add(rogue, "rogue/well")
        result = laboratory.run("rogue", "null")
        assert result.returncode == 0, result.stderr
        return laboratory.session_path.read_bytes().splitlines(keepends=True)


@pytest.fixture
def cut(laboratory, rogue, whole):
    """That session, cut after its plan, in a laboratory of its own; its lines before the cut."""
    laboratory.add(rogue, "rogue/well")
    plan = next(index for index, line in enumerate(whole) if b'"type":"plan"' in line)
    laboratory.session_path.write_bytes(b"".join(whole[: plan + 1]))
    return whole[: plan + 1]


def changed(line: bytes, change) -> bytes:
    record = json.loads(line)
    change(record)
    return msgspec.json.encode(record) + b"\n"


def refused(laboratory, code: int = SessionFileError.exit_code) -> str:
    before = laboratory.session_path.read_bytes()
    result = laboratory.do("run", "--resume", laboratory.session_path)
    assert result.returncode == code, result.stderr
    assert laboratory.session_path.read_bytes() == before, "a session that is refused is not touched"
    assert "Traceback" not in result.stderr
    return words(result.stderr)


def test_a_torn_last_line_is_dropped(laboratory, cut):
    laboratory.session_path.write_bytes(b"".join(cut) + b'{"type":"run","case":"rogue/we')
    shown = laboratory.do("show", laboratory.session_path)
    assert shown.returncode == 0, shown.stderr
    assert "steelyard run --resume" in shown.stdout
    resumed = laboratory.do("run", "--resume", laboratory.session_path)
    assert resumed.returncode == 0, resumed.stderr
    assert b"rogue/we{" not in laboratory.session_path.read_bytes()
    assert laboratory.session().end.blocks == 2


def test_a_session_of_another_machine_is_not_gone_on_with_here(laboratory, cut):
    def move(header):
        header["machine"]["key"] = "anothermach"

    laboratory.session_path.write_bytes(changed(cut[0], move) + b"".join(cut[1:]))
    assert "was begun on machine anothermach" in refused(laboratory)


def test_a_session_with_another_program_is_not_gone_on_with(laboratory, cut):
    probe = laboratory.folder / "probes" / "rogue" / "well"
    contents = probe.read_bytes()
    probe.unlink()
    probe.write_bytes(contents + b"\0")
    probe.chmod(0o755)
    assert "probe rogue/well is not the program it was: begin a new session" in refused(laboratory)
    probe.unlink()
    assert "probe rogue/well is not the program it was" in refused(laboratory)


def test_a_complete_session_is_not_gone_on_with(laboratory, cut, whole):
    laboratory.session_path.write_bytes(b"".join(whole))
    assert "is complete: there is nothing to resume" in refused(laboratory)


def test_a_session_is_gone_on_with_by_one_lab_only(laboratory, cut):
    labs = [laboratory.start("run", "--resume", laboratory.session_path) for _ in range(2)]
    said = {}
    for lab in labs:
        with lab:
            _, err = lab.communicate(timeout=processes.PATIENCE_S)
        said[lab.returncode] = words(err)
    assert set(said) == {0, SessionFileError.exit_code}
    assert re.search("another program resumed|is complete", said[SessionFileError.exit_code])
    assert_each_once(laboratory.session().runs)


def test_a_malformed_line_is_named_by_its_number(laboratory, cut):
    laboratory.session_path.write_bytes(b"".join([*cut[:2], b"what?\n", *cut[2:]]))
    assert f"{laboratory.session_path}:3: not a line of a session file" in refused(laboratory)


def test_a_case_that_failed_before_the_interruption_is_still_told(laboratory, rogue):
    laboratory.add(rogue, "rogue/fails", "rogue/well")
    assert laboratory.run("rogue").returncode == CasesFailedError.exit_code
    lines = laboratory.session_path.read_bytes().splitlines(keepends=True)
    laboratory.session_path.write_bytes(b"".join(lines[:-1]))
    resumed = laboratory.do("run", "--resume", laboratory.session_path)
    assert resumed.returncode == CasesFailedError.exit_code
    assert "rogue/fails@same failed" in words(resumed.stderr)


def test_a_full_disk_keeps_what_was_written_and_says_how_to_go_on(laboratory, rogue, cut):
    # A limit on the size of a file stands in for a full disk: the same call fails, and no file system has to be made.
    size = laboratory.session_path.stat().st_size + 2000
    result = laboratory.do(
        "run",
        "--resume",
        laboratory.session_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY)),
    )
    assert result.returncode == SessionFileError.exit_code, result.stderr
    assert "Traceback" not in result.stderr
    assert "cannot write (File too large)" in words(result.stderr)
    assert "--resume" in result.stderr
    laboratory.assert_nothing_is_left()
    again = laboratory.do("run", "--resume", laboratory.session_path)
    assert again.returncode == 0, again.stderr
    assert_each_once(laboratory.session().runs)
