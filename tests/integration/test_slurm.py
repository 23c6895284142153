# SPDX-License-Identifier: Apache-2.0
"""A fleet on a real Slurm, and everything that may happen to it: no session is lost and none is there twice."""

import itertools
import json
import os
import re
import resource
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from steelyard.errors import IncompleteError, StorageError, VersionError
from steelyard.keep.fleet import FleetFolder
from tests import processes
from tests.integration.laboratory import QUICK, a_laboratory, words
from tests.integration.slurm import NODES, Cluster, a_cluster
from tests.integration.test_fleet import assert_nothing_overlaps, measuring, sessions_of

FILES = Path(__file__).parents[2] / "docs" / "how-to" / "files"
#: Sessions wait for each other by the lock of the one machine that all nodes are.
PATIENCE_S = 4 * processes.PATIENCE_S
RUN = ("fleet", "run", "plan.json", "--backend", "slurm", "--even-if-busy", "--poll", "200ms", "--node-wait", "1s")
RESUME = ("fleet", "resume", "--poll", "200ms", "--node-wait", "1s")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, rogue):
    with a_laboratory(tmp_path_factory.mktemp("slurm")) as laboratory:
        laboratory.add(rogue, "rogue/well", "rogue/slow")
        with a_cluster(laboratory) as made:
            yield made


@pytest.fixture
def folder(cluster, request):
    """Where the fleet of a test goes; its plan is one quick case."""
    plan = cluster.laboratory.folder / "plan.json"
    plan.unlink(missing_ok=True)
    done = cluster.laboratory.do("fleet", "plan", "rogue/slow", *QUICK)
    assert done.returncode == 0, done.stderr
    return FleetFolder(cluster.laboratory.folder / re.sub(r"\W", "_", request.node.name))


def start(cluster: Cluster, *arguments: object, **more) -> subprocess.Popen[str]:
    return subprocess.Popen(
        processes.command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cluster.environment(),
        cwd=cluster.laboratory.folder,
        text=True,
        **more,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    with process:
        _, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, words(err)


def do(cluster: Cluster, *arguments: object, **more) -> tuple[int, str]:
    return finish(start(cluster, *arguments, **more))


def any_measuring(folder: FleetFolder, node: str) -> bool:
    return any(measuring(folder, token) for token in folder.heartbeats() if token.startswith(node))


def probes(cluster: Cluster) -> list[int]:
    return [pid for pid in processes.marked(cluster.laboratory.mark) if processes.name_of(pid) == "slow"]


def assert_attempts_take_turns_on_each_node(folder: FleetFolder) -> None:
    """By what the parts say: on a node the next attempt begins after the one before has said its last word."""
    spans: dict[str, list[tuple[float, float]]] = {node: [] for node in NODES}
    for token, attempts in folder.heartbeats().items():
        spans[token.partition(".")[0]] += [(said[0].at, said[-1].at) for said in attempts]
    for on_node in spans.values():
        assert all(first[1] <= second[0] + 0.01 for first, second in itertools.pairwise(sorted(on_node)))


def assert_nine_sessions(folder: FleetFolder) -> None:
    """Each token has exactly one session, whole, and on no node did two measure at a time."""
    found = sessions_of(folder)
    assert set(found) == {f"{node}.{number}" for node in NODES for number in (1, 2, 3)}
    assert all(session.end for session in found.values())
    assert len({session.header.id for session in found.values()}) == 9
    assert {session.header.placed.backend for session in found.values()} == {"slurm"}
    assert_nothing_overlaps(found.values())
    assert_attempts_take_turns_on_each_node(folder)


def test_nine_sessions_on_three_nodes_whatever_is_killed_meanwhile(cluster, folder):
    """SIGKILL to a probe, a node's daemon, the client and the controller while they work; then two clients at once."""
    client = start(cluster, *RUN, "--nodes", "n[1-3]", "--sessions", "3", "-o", folder.path)
    processes.until(lambda: any_measuring(folder, "n"), "a session is being measured", PATIENCE_S)
    processes.until(lambda: processes.kill_one(probes(cluster)), "a probe is at work, and is killed")
    cluster.kill("n1")
    processes.until(lambda: len(folder.delivered()) >= 2, "two sessions are there", PATIENCE_S)
    client.kill()
    finish(client)
    cluster.kill("slurmctld")
    cluster.start_node("n1")
    # A controller that begins anew knows no node until it has heard of it, which takes a busy host seconds.
    clients = [start(cluster, *RESUME[:-1], "60s", folder.path) for _ in range(2)]
    processes.until(lambda: len(folder.delivered()) >= 3, "what was placed goes on without a controller", PATIENCE_S)
    cluster.start_controller()
    ended = [finish(client) for client in clients]
    if any(code for code, _ in ended):
        # What a controller has begun and not yet written down when it is killed, the next one begins again: Slurm then
        # drains the node, and a person has to say that it may work again. And the probe may have been killed in the
        # pilot, which leaves its session without a case. What a busy host has not begun within a minute is cancelled.
        foreseen = (
            r"n\d: left out: n\d is drain(ed|ing) \(Duplicate jobid\)"
            r"|failed: (no selected case could be measured|it was cancelled)"
        )
        for code, said in ended:
            assert code == 0 or re.search(foreseen, said), said
        cluster.resume_drained()
        ended = [do(cluster, *RESUME, folder.path)]
    for code, said in ended:
        assert code == 0, said
        assert "9 of 9 sessions are there" in said
    assert_nine_sessions(folder)
    before = {path: path.stat().st_ino for path in folder.delivered().values()}
    assert do(cluster, *RESUME, folder.path)[0] == 0
    assert {path: path.stat().st_ino for path in folder.delivered().values()} == before


def test_a_node_that_dies_and_one_that_is_drained_are_said_and_the_others_go_on(cluster, folder):
    cluster.ask("scontrol", "update", "nodename=n3", "state=drain", "reason=disk is full")
    client = start(cluster, *RUN, "--partition", "main", "-o", folder.path)
    processes.until(lambda: any_measuring(folder, "n2"), "a session is being measured on n2", PATIENCE_S)
    cluster.kill_whole_node("n2")
    code, said = finish(client)
    assert code == IncompleteError.exit_code, said
    assert re.search(r"n3: left out: n3 is (drained|draining) \(disk is full\)", said)
    assert re.search(r"n2: left out: n2 (is down|does not answer)", said)
    assert set(folder.delivered()) == {"n1.1"}
    there = folder.session("n1.1").stat().st_ino

    status = json.loads(
        subprocess.run(
            processes.command("fleet", "status", folder.path, "--json"),
            env=cluster.environment(),
            capture_output=True,
            check=True,
        ).stdout
    )
    assert Counter(one["state"] for one in status)["delivered"] == 1
    cluster.ask("scontrol", "update", "nodename=n3", "state=resume")
    cluster.start_node("n2")
    cluster.until_idle("n2", "n3")
    code, said = do(cluster, *RESUME, folder.path)
    assert code == 0, said
    assert set(folder.delivered()) == {"n1.1", "n2.1", "n3.1"}
    assert folder.session("n1.1").stat().st_ino == there
    assert "n2.1: begun again" in said


def test_what_is_requeued_cancelled_or_never_starts(cluster, folder):
    """Requeued: measured again, one session. Cancelled, or behind another's job for too long: said."""
    waiting = cluster.ask("sbatch", "--parsable", "--exclusive", "-w", "n3", "--wrap", "sleep 600").strip()
    cluster.until_job(waiting, "RUNNING")
    client = start(cluster, *RUN, "--nodes", "n[1-3]", "-o", folder.path, "--start-within", "2s")
    processes.until(lambda: any_measuring(folder, "n1") or any_measuring(folder, "n2"), "one measures", PATIENCE_S)
    # They take turns, all being on this host: the other one waits, or is measured as soon as the first one is not.
    first, other = ("n1.1", "n2.1") if any_measuring(folder, "n1") else ("n2.1", "n1.1")
    jobs = job_of(cluster, folder, first), job_of(cluster, folder, other)
    cluster.ask("scontrol", "requeue", jobs[0])
    cluster.ask("scancel", jobs[1])
    code, said = finish(client)
    cluster.ask("scancel", waiting)
    assert code == IncompleteError.exit_code, said
    assert re.search(r"n3: left out: its job was still in the queue after 2 s \((Resources|Priority)\)", said)
    assert re.search(rf"{other}: failed: it was (cancelled|told to stop)", said), said
    code, said = do(cluster, *RESUME, folder.path)
    assert code == 0, said
    assert set(folder.delivered()) == {"n1.1", "n2.1", "n3.1"}
    assert len(folder.heartbeats()[first]) >= 2
    assert_nothing_overlaps(sessions_of(folder).values())


def job_of(cluster: Cluster, folder: FleetFolder, token: str) -> str:
    name = f"steelyard-{folder.order().id}-{token}"
    return cluster.ask("squeue", "--noheader", "--states=all", f"--name={name}", "--format=%i").split()[-1]


@pytest.fixture
def disk(folder):
    """The folder of the fleet on a disk of its own, whose size in bytes can be said."""
    folder.path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "none", folder.path], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"only root can mount a disk that all nodes see ({made.stderr.strip()})")
    try:
        yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}", folder.path], check=True)
    finally:
        subprocess.run(["umount", "--lazy", folder.path], check=True)


def test_nine_sessions_on_three_nodes_although_the_disk_fills_up_in_the_middle_of_one(cluster, folder, disk):
    client = start(cluster, *RUN, "--nodes", "n[1-3]", "--sessions", "3", "-o", folder.path)
    processes.until(lambda: len(folder.delivered()) >= 2, "two sessions are there", PATIENCE_S)
    there = os.statvfs(folder.path)
    # Room for the beginning of a session and not for its end.
    largest = max(path.stat().st_size for path in folder.delivered().values())
    disk((there.f_blocks - there.f_bfree) * there.f_bsize + largest // 2)
    code, said = finish(client)
    assert code == IncompleteError.exit_code, said
    kept = {path: path.read_bytes() for path in folder.delivered().values()}
    assert 2 <= len(kept) < 9
    assert all(session.end for session in sessions_of(folder).values())
    assert list((folder.path / "incoming").iterdir()) == []
    # Why is said by the part of the fleet on the node, if there is still room for its words, else by its exit code.
    why = re.findall(r"(n[123]\.[123]): failed: .*?(?:No space left on device|exit code 74: There is no room)", said)
    assert set(why) == {f"{node}.{number}" for node in NODES for number in (1, 2, 3)} - set(folder.delivered())
    for token in why:
        assert cluster.job(job_of(cluster, folder, token))["ExitCode"] == f"{StorageError.exit_code}:0"

    disk("50%")
    code, said = do(cluster, *RESUME, folder.path)
    assert code == 0, said
    assert_nine_sessions(folder)
    assert {path: path.read_bytes() for path in kept} == kept


def test_a_node_without_room_of_its_own_is_said_by_its_exit_code(cluster, folder):
    # Slurm gives a job the limits of who submitted it; one on the size of files stands in for a full disk.
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))

    code, said = do(cluster, *RUN, "--nodes", "n1", "-o", folder.path, preexec_fn=small)
    assert code == IncompleteError.exit_code
    assert "n1.1: failed:" in said
    assert "nothing of the session was kept: make room there" in said
    assert cluster.job(job_of(cluster, folder, "n1.1"))["ExitCode"] == f"{StorageError.exit_code}:0"
    assert folder.delivered() == {}
    code, said = do(cluster, *RESUME, folder.path)
    assert (code, set(folder.delivered())) == (0, {"n1.1"}), said


def test_a_batch_script_of_ones_own_works_and_keeps_to_its_cpus(cluster, folder):
    script = (FILES / "fleet.sbatch").read_text()
    cpus = len(os.sched_getaffinity(0))
    path = f"{Path(processes.command()[0]).parent}:{cluster.environment()['PATH']}"
    environment = {**cluster.environment(), "STEELYARD_NODE_OPTIONS": "--even-if-busy", "PATH": path}

    def submit(script: str, into: Path, *options: str) -> str:
        file = cluster.laboratory.folder / "fleet.sbatch"
        file.write_text(script)
        command = ["sbatch", "--parsable", *options, file, "plan.json", into]
        done = subprocess.run(
            command,
            env=environment,
            cwd=cluster.laboratory.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    shared = script.replace("#SBATCH --exclusive", "#")
    job = submit(shared, folder.path, "--array=1-2", "--nodelist=n1", "--cpus-per-task=1")
    processes.until(lambda: len(folder.delivered()) == 2, "both sessions are there", PATIENCE_S)
    found = sessions_of(folder)
    assert set(found) == {"n1.1", "n1.2"}
    for session in found.values():
        assert session.header.placed.job.startswith(f"{job}_")
        assert len(session.header.machine.cpus) == min(1, cpus)
    # Slurm let both run at the same time on one node; the machine did not.
    assert_nothing_overlaps(found.values())

    plan = cluster.laboratory.folder / "plan.json"
    plan.write_text(plan.read_text().replace('"steelyard": "', '"steelyard": "9.'))
    other = submit(script, folder.path.with_name("other"), "--array=1")
    ended = cluster.until_job(f"{other}_1", "FAILED")
    assert ended["ExitCode"] == f"{VersionError.exit_code}:0"


def test_a_session_may_come_over_srun_without_a_shared_folder(cluster, folder):
    part = " ".join(processes.command("fleet", "node", "-", "--to", "-", "--even-if-busy"))
    collect = " ".join(processes.command("fleet", "collect", folder.path, "--plan", "plan.json"))
    cluster.ask("sh", "-c", f"srun --nodelist=n2 --exclusive {part} < plan.json | {collect}")
    assert set(sessions_of(folder)) == {"n2.1"}
