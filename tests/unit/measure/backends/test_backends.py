# SPDX-License-Identifier: Apache-2.0
"""The backends by what they print and are told; tests/integration/test_slurm.py has a real Slurm."""

import sys
from pathlib import Path

import msgspec
import pytest

from steelyard.errors import BackendError, StorageError
from steelyard.measure import backends
from steelyard.measure.backends import Unreachable, local, slurm
from steelyard.records import FleetOrder
from tests import processes


def an_order(backend="local", nodes=("a", "b")) -> FleetOrder:
    return FleetOrder(
        id="0123abcd", at="2026-01-02T03:04:05+00:00", backend=backend, nodes=nodes, sessions=1, time_limit_s=90
    )


def test_engines_are_found_by_looking_in_their_folder():
    assert {"local", "slurm"} <= set(backends.names())
    with pytest.raises(BackendError, match="no backend"):
        backends.backend(an_order(backend="smoke"))


def test_the_local_engine_is_taken_where_no_other_finds_its_cluster(monkeypatch):
    monkeypatch.setattr(slurm, "missing", lambda: "sbatch not found")
    assert backends.default() == "local"
    with pytest.raises(BackendError, match="slurm cannot be used here: sbatch not found"):
        backends.resolve("slurm", "n1", None)
    monkeypatch.setattr(slurm, "missing", lambda: None)
    assert backends.default() == "slurm"


def test_a_process_knows_who_placed_it():
    assert backends.here({}).backend == "local"
    here = backends.here(
        {
            "SLURM_JOB_ID": "18",
            "SLURM_ARRAY_JOB_ID": "17",
            "SLURM_ARRAY_TASK_ID": "2",
            "SLURMD_NODENAME": "n7",
            "SLURM_RESTART_COUNT": "1",
            "SLURM_CPUS_ON_NODE": "4",
        }
    )
    assert (here.backend, here.node, here.job, here.restart, here.number, here.cpus) == ("slurm", "n7", "17_2", 1, 2, 4)
    bare = backends.here({"SLURM_JOB_ID": "18", "SLURM_ARRAY_TASK_ID": "0"})
    assert (bare.restart, bare.number, bare.cpus) == (0, None, None)


# --- local ------------------------------------------------------------------------------------------------------------


def test_the_local_engine_takes_names_and_no_partition():
    assert local.resolve("a,b,", None) == ["a", "b"]
    assert len(local.resolve(None, None)) == 1
    with pytest.raises(BackendError, match="no partition"):
        local.resolve(None, "main")


def test_the_local_engine_runs_one_after_the_other(tmp_path):
    backend = local.Backend(an_order())
    assert [node.usable for node in backend.nodes()] == [True, True]
    script = "import sys, time; print(sys.argv[2]); time.sleep(0.2); sys.exit(3)"
    for name in ("a", "b", "c"):
        backend.place(f"{name}.1", name, [sys.executable, "-c", script], tmp_path / name)
    backend.take_back("c.1")
    seen = []

    def over():
        states = {token: job.state for token, job in backend.jobs().items()}
        seen.append(states)
        return set(states.values()) == {"ended"}

    processes.until(over, "both jobs have ended")
    assert seen[0] == {"a.1": "running", "b.1": "queued"}
    assert all(list(states.values()).count("running") <= 1 for states in seen)
    assert {token: job.code for token, job in backend.jobs().items()} == {"a.1": 3, "b.1": 3}
    assert (tmp_path / "b").read_text() == "b\n"
    backend.close()


def test_what_the_local_engine_runs_ends_with_it(tmp_path):
    backend = local.Backend(an_order())
    backend.place("a.1", "a", [sys.executable, "-c", "import time; time.sleep(600)"], tmp_path / "a")
    assert backend.jobs()["a.1"].state == "running"
    backend.close()
    job = backend.jobs()["a.1"]
    assert (job.state, job.code, job.said) == ("ended", 143, "it was ended by SIGTERM")


@pytest.mark.parametrize("listens", [True, False])
def test_what_hangs_is_ended_by_the_local_engine_and_the_next_begins(tmp_path, monkeypatch, listens):
    monkeypatch.setattr(local, "_KILL_WAIT_S", 0.2)
    order = msgspec.structs.replace(an_order(), time_limit_s=0.5)
    backend = local.Backend(order)
    deaf = "" if listens else "signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    hangs = f"import signal, time; {deaf}print('here', flush=True); time.sleep(600)"
    backend.place("a.1", "a", [sys.executable, "-c", hangs], tmp_path / "a")
    backend.place("b.1", "b", ["true"], tmp_path / "b")
    processes.until(lambda: backend.jobs()["b.1"].state == "ended", "the next one has run")
    assert backend.jobs()["a.1"].said == "it met its time limit: ask for more with --time-limit"
    assert backend.jobs()["b.1"].code == 0


# --- Slurm ------------------------------------------------------------------------------------------------------------

SINFO = """\
n1|idle|none
n1|idle|none
n2|drained|disk is full
n3|idle*|Not responding
n4|allocated|none
n5|down*|Not responding
n6|idle~|none
n7|mixed-|none
n8|IDLE+DRAIN|none
n9|maint|planned
"""


def test_which_nodes_can_be_used_now():
    found = {node.name: node for node in slurm.parse_nodes(SINFO)}
    assert [name for name, node in found.items() if node.usable] == ["n1", "n4", "n6", "n7"]
    assert found["n2"].said == "is drained (disk is full)"
    assert found["n3"].said == "does not answer (Not responding)"
    assert found["n5"].said == "is down (Not responding)"
    assert found["n8"].said == "is idle+drain"
    assert found["n1"].said == ""


def test_of_the_jobs_of_a_token_the_one_that_lives_counts_else_the_newest():
    text = """\
12|steelyard-0123abcd-n1.1|COMPLETED|None
9|steelyard-0123abcd-n1.1|RUNNING|None
10|steelyard-0123abcd-n2.1|FAILED|NonZeroExitCode
11|steelyard-0123abcd-n2.1|TIMEOUT|TimeLimit
13|steelyard-ffffffff-n3.1|RUNNING|None
14|somebody|PENDING|Resources
15|steelyard-0123abcd-n4.1|PENDING|ReqNodeNotAvail, UnavailableNodes:n4
"""
    assert slurm.parse_queue(text, "steelyard-0123abcd-") == {
        "n1.1": ("9", "running", "None"),
        "n2.1": ("11", "timeout", "TimeLimit"),
        "n4.1": ("15", "pending", "ReqNodeNotAvail, UnavailableNodes:n4"),
    }


@pytest.mark.parametrize(
    ("state", "exit_code", "code", "said"),
    [
        (
            "failed",
            "74:0",
            74,
            f"exit code 74: {(StorageError.__doc__ or '').rstrip('.')}",
        ),
        ("failed", "3:0", 3, "exit code 3"),
        ("failed", "0:9", 137, "it was ended by signal 9"),
        ("node_fail", "1:0", None, "its node died"),
        ("timeout", "0:15", None, "it met its time limit: ask for more with --time-limit"),
        ("completed", "0:0", 0, ""),
        ("completed", "", None, ""),
    ],
)
def test_what_is_said_of_a_job_that_ended(state, exit_code, code, said):
    job = slurm._ended("7", state, exit_code)
    assert (job.code, job.said) == (code, said)


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Put a shell script in the place of each of Slurm's tools."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def put(name: str, script: str) -> Path:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return put


AWAY = "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1"


def test_a_controller_that_is_away_is_told_from_a_refusal(tool):
    tool("squeue", AWAY)
    with pytest.raises(Unreachable, match="does not answer"):
        slurm.Backend(an_order("slurm")).jobs()
    tool("sbatch", "echo 'sbatch: error: Invalid account' >&2; exit 1")
    with pytest.raises(BackendError, match=r"^sbatch refused: Invalid account$"):
        slurm.Backend(an_order("slurm")).place("n1.1", "n1", ["true"], Path("/tmp/out"))


def test_what_is_asked_of_sbatch(tool, tmp_path):
    tool("sbatch", f'printf "%s\\n" "$@" > {tmp_path}/said; cat > {tmp_path}/script; echo "17;cluster"')
    tool("squeue", "true")
    backend = slurm.Backend(an_order("slurm"))
    backend.place("n1.1", "n1", ["steelyard", "a b"], tmp_path / "100%.out")
    said = (tmp_path / "said").read_text().split("\n")
    assert {"--exclusive", "--requeue", "--nodelist=n1", "--job-name=steelyard-0123abcd-n1.1", "--time=2"} <= set(said)
    assert f"--output={tmp_path}/100%%.out" in said
    assert (tmp_path / "script").read_text() == "#!/bin/sh\nexec steelyard 'a b' --node n1\n"
    forgotten = backend.jobs()["n1.1"]
    assert (forgotten.job, forgotten.state) == ("17", "ended")


def test_a_users_own_formats_change_nothing(tool, monkeypatch):
    monkeypatch.setenv("SQUEUE_FORMAT", "%i")
    tool("squeue", 'test -z "$SQUEUE_FORMAT" && echo "7|steelyard-0123abcd-n1.1|RUNNING|None"')
    assert slurm.Backend(an_order("slurm")).jobs()["n1.1"].state == "running"


def test_a_job_that_was_forgotten_while_it_was_asked_for_has_ended(tool):
    tool("squeue", 'echo "7|steelyard-0123abcd-n1.1|FAILED|x"')
    tool("scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    job = slurm.Backend(an_order("slurm")).jobs()["n1.1"]
    assert (job.state, job.code) == ("ended", None)


def test_nodes_that_slurm_does_not_have_are_named(tool):
    tool("sinfo", "echo 'n1|idle|none'")
    tool("scontrol", "echo n1; echo n2")
    with pytest.raises(BackendError, match="Slurm has no node n2"):
        slurm.resolve("n[1-2]", None)
    with pytest.raises(BackendError, match="--nodes, or a --partition"):
        slurm.resolve(None, None)
    tool("sinfo", "true")
    with pytest.raises(BackendError, match="no node at all in partition main"):
        slurm.resolve(None, "main")


def test_tools_without_a_cluster_are_no_slurm(tool, monkeypatch, tmp_path):
    for name in ("sbatch", "squeue", "scontrol", "scancel"):
        tool(name, "true")
    tool("sinfo", "echo 'sinfo: fatal: Could not establish a configuration source' >&2; exit 1")
    assert "Could not establish a configuration source" in slurm.missing()
    tool("sinfo", AWAY)
    assert slurm.missing() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "scancel").unlink()
    assert slurm.missing() == "scancel not found"


def test_a_tool_that_never_answers_is_given_up(tool, monkeypatch):
    tool("squeue", "exec sleep 60")
    monkeypatch.setattr(slurm, "_ANSWER_S", 0.1)
    with pytest.raises(Unreachable, match="no answer"):
        slurm.Backend(an_order("slurm")).jobs()
