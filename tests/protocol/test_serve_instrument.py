# SPDX-License-Identifier: Apache-2.0
"""What the instrument of serve/ makes of a load: rates, knees, quantiles, limits; what its parameters do to a run."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from steelyard.measure import catalog
from tests import processes
from tests.protocol.serving import MODELS, drive

SKIPPED = 77
CPUS = len(os.sched_getaffinity(0))


class Ended(Exception):  # noqa: N818 - of the probe, which does not go on
    """The probe ended with this reason."""


@pytest.fixture(autouse=True)
def ending(monkeypatch):
    """What would end the probe raises its reason."""

    def end(reason):
        raise Ended(reason)

    monkeypatch.setattr(drive, "skip", end)
    monkeypatch.setattr(drive, "fail", end)


def ran(model, *parameters, values=1):
    """A run of a model: its lines by their type. A test that it can't do here is skipped."""
    path = MODELS[model]
    if path.suffix == ".skip":
        processes.missing(path.read_text().strip())
    command = [*catalog.command(path), *parameters, "--operations", "1", "--values", str(values), "--json"]
    done = subprocess.run(
        command, env={**os.environ, "STEELYARD_PYTHON": sys.executable}, capture_output=True, text=True, check=False,
        timeout=processes.PATIENCE_S,
    )  # fmt: skip
    if done.returncode == SKIPPED:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return SimpleNamespace(
        values=[line for line in lines if line["type"] == "value"],
        caveats=[line["text"] for line in lines if line["type"] == "caveat"],
    )


# --- a rate, and quantiles --------------------------------------------------------------------------------------------


def test_quantiles_are_those_of_the_merged_histogram():
    once, twice = [(10, 1), (1 << 20, 1)], [(10, 2)]
    together = drive.merged([once, twice])
    assert together == {10: 3, 1 << 20: 1}
    assert drive.quantile(together, 0.5) == 10e-9
    middle = (1 << 20) + ((1 << 13) - 1) / 2  # of 128 buckets in the octave
    assert drive.quantile(together, 0.99) == pytest.approx(middle / 1e9)
    assert drive.quantile({}, 0.5) == 0


@pytest.mark.parametrize(
    ("work_ns", "wait_us", "connections", "rate"),
    [(0, 0, 1, 2500), (500_000, 0, 1000, 400), (50_000, 20_000, 10, 5 / 0.02005), (50_000, 1000, 10_000, 2500)],
)
def test_a_rate_that_nobody_gave_leaves_every_model_room(work_ns, wait_us, connections, rate):
    given = {"work_ns": work_ns, "wait_us": wait_us, "connections": connections, "cores": 1, "calls": "ignored"}
    assert drive.rate_for(given) == pytest.approx(rate)
    assert drive.rate_for({**given, "calls": "counted"}) < drive.rate_for(given)


# --- wrong answers ----------------------------------------------------------------------------------------------------


CLIENT = catalog.native_folder() / "probes" / "support" / "serve" / "load"
WRONG = b"HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n00000000 00000000 00000000\n"


@pytest.fixture
def answering_wrongly():
    """The port of a server of one connection whose answers are no checksums."""
    with socket.create_server((drive.HOST, 0)) as listener:

        def answer():
            connection, _ = listener.accept()
            with connection:
                while connection.recv(4096):
                    connection.sendall(WRONG)

        threading.Thread(target=answer, daemon=True).start()
        yield listener.getsockname()[1]


def test_the_client_counts_answers_that_are_wrong_and_says_what_is_wrong_with_them(answering_wrongly):
    commands = f"open {answering_wrongly} 1\nload 0.1 100 constant 1 0 0 1 0 0 27\n"
    done = subprocess.run([CLIENT], input=commands, capture_output=True, text=True, check=True)
    opened, load = map(json.loads, done.stdout.splitlines())
    assert opened == {"open": 1}
    assert load["wrong"] == load["answered"] > 0
    assert load["reason"] == "an answer's checksum is not that of its request"


def test_a_client_that_was_kept_from_its_cpu_offers_all_that_was_due(answering_wrongly):
    with subprocess.Popen([CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as client:
        client.stdin.write(f"open {answering_wrongly} 1\n")
        client.stdout.readline()
        client.stdin.write("load 0.3 1000 constant 1 0 0 1 0 0 27\n")
        time.sleep(0.05)
        client.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        client.send_signal(signal.SIGCONT)
        load = json.loads(client.stdout.readline())
        client.stdin.close()
    assert load["offered"] in (299, 300)


def test_a_model_that_answers_wrongly_fails():
    service = drive.Service()
    service.title = "a server"
    service._daemon = SimpleNamespace(is_gone=lambda: False, said=lambda: "")
    with pytest.raises(Ended, match="a server answers wrongly: 3 of 10 answers"):
        service._check({"wrong": 3, "answered": 10, "reason": "its work was not done"}, None)


# --- goal_us ----------------------------------------------------------------------------------------------------------


class Server(drive.Service):
    """A service that keeps up with ``keeps`` requests a second in a millisecond, answers ``most``, and does no more."""

    title = "a server"

    def __init__(self, goal_us, keeps, most=1000.0):
        super().__init__()
        self.given = {"goal_us": goal_us, "wait_us": 0}
        self._daemon = SimpleNamespace(pid=os.getpid())
        self.keeps, self.most = keeps, most
        self.asked = []

    def _load(self, seconds, rate=None):
        self.asked.append(rate)
        offered = (rate or self.most) * seconds
        took_ns = 1_000_000 if rate and rate <= self.keeps else 50_000_000
        answered = min(offered, self.most * seconds)
        return {"answered": answered, "offered": offered, "latency": [(took_ns, answered)]}

    def _check(self, load, now):
        """Nothing can be wrong with it."""


def test_the_knee_is_the_highest_rate_that_keeps_the_goal():
    server = Server(goal_us=10_000, keeps=800)
    assert 800 - 1000 / 2**6 <= server._find_knee() <= 800
    assert server.asked[0] == 0.0, "first it is asked for all that it can do"
    assert all(0 < rate < server.most for rate in server.asked[1:])


def test_a_goal_that_no_rate_keeps_ends_the_run():
    with pytest.raises(Ended, match="no rate at which 99 of 100 requests are answered in"):
        Server(goal_us=100, keeps=800)._find_knee()


def test_a_rate_at_which_requests_are_left_is_not_kept():
    server = Server(goal_us=1_000_000, keeps=800, most=500.0)
    load = server._load

    def lossy(seconds, rate=None):
        said = load(seconds, rate)
        return {**said, "answered": said["answered"] * (0.9 if rate and rate > 250 else 1)}

    server._load = lossy
    assert 250 - 500 / 2**6 <= server._find_knee() <= 250


def test_a_run_with_a_goal_is_measured_at_its_share_of_the_knee():
    [value] = ran("epoll", "goal_us=200000", "at_percent=50", "connections=20", "wait_us=0", "work_ns=0").values
    readings = value["readings"]
    assert readings["knee"] > 0
    assert readings["rate"] == pytest.approx(readings["knee"] / 2)
    assert readings["looked_for"] == 1


# --- calls ------------------------------------------------------------------------------------------------------------


# A thread receives a request by one call and sends its answer by another one; a loop asks what has come as well.
@pytest.mark.parametrize(("model", "least", "most"), [("thread", 1.9, 4), ("asyncio_task", 2.5, 20)])
def test_system_calls_are_counted_and_everything_else_is_said_to_be_slowed(model, least, most):
    processes.tool("strace")
    run = ran(model, "calls=counted", "connections=5", "wait_us=0", "work_ns=0")
    [value] = run.values
    counts = value["counts"]
    assert counts["traced"] == value["operations"] > 0
    assert least <= counts["called"] / counts["traced"] <= most
    assert any("no other figure is its own" in caveat for caveat in run.caveats)


def test_calls_that_nobody_counts_are_none():
    [value] = ran("thread", "connections=5", "wait_us=0", "work_ns=0").values
    assert (value["counts"]["called"], value["counts"]["traced"]) == (0, 0)


# --- cores ------------------------------------------------------------------------------------------------------------


def test_a_service_of_all_cpus_has_the_rate_of_all_and_shares_one_with_the_client():
    run = ran("thread", f"cores={CPUS}", "connections=50", "wait_us=0", "work_ns=1000")
    [value] = run.values
    assert value["readings"]["rate"] == drive._MOST_RATE * CPUS
    assert value["readings"]["seconds_of_cores"] == pytest.approx(value["readings"]["seconds"] * CPUS)
    assert "service and client share a CPU, so that latency is that of both" in run.caveats


def test_more_cores_than_there_are_cannot_be_measured():
    command = [*catalog.command(MODELS["thread"]), f"cores={CPUS + 1}", "--values", "1", "--json"]
    environment = {**os.environ, "STEELYARD_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (SKIPPED, "")
    assert f"cores={CPUS}" in done.stderr


# --- over ------------------------------------------------------------------------------------------------------------


def test_a_run_over_a_unix_socket_answers_as_one_over_tcp():
    [value] = ran("thread", "over=unix", "connections=30", "wait_us=0", "work_ns=0").values
    assert value["counts"]["checked"] == value["operations"] > 0
    assert value["counts"]["broken"] == 0


# --- memory -----------------------------------------------------------------------------------------------------------


def test_memory_in_the_wait_is_looked_at_while_a_request_waits_on_every_connection():
    run = ran("thread", "held=waiting", "connections=600", "wait_us=0", "work_ns=0", values=2)
    counts = [value["counts"] for value in run.values]
    assert [each["waited"] for each in counts] == [600, 600]
    assert counts[0]["waiting_bytes"] >= 600 * 4096, "each has a stack of which it has touched a page at least"
    assert [each["watched"] > 0 for each in counts] == [True, False], "many threads are watched once, in a value"


def test_a_pool_cannot_wait_on_more_connections_than_it_has_threads():
    run = ran("thread_pool", "held=waiting", "threads=4", "connections=20", "wait_us=0", "work_ns=0")
    assert run.values[0]["counts"]["waited"] == 0
    assert any("never waited on all 20 connections at once" in caveat for caveat in run.caveats)


WAIT_NS = 1_000_000_000
ALL = {"answered": 10, "offered": 10, "first_ns": 1_010_000_000, "last_ns": 1_200_000_000}


@pytest.mark.parametrize(
    ("load", "began_ns", "ended_ns", "holds"),
    [
        (ALL, 750_000_000, 760_000_000, True),
        (ALL, 190_000_000, 200_000_000, False),  # the last one may not have begun to wait
        (ALL, 750_000_000, 1_020_000_000, False),  # the first one was answered meanwhile
        ({**ALL, "answered": 9}, 750_000_000, 760_000_000, False),
        ({**ALL, "answered": 0, "offered": 0}, 750_000_000, 760_000_000, False),
    ],
)
def test_all_waited_at_once_if_the_last_had_begun_and_the_first_was_not_answered(load, began_ns, ended_ns, holds):
    assert drive.waited_at_once(load, WAIT_NS, began_ns, ended_ns) is holds


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def limits(monkeypatch):
    """The limits of a machine: open files and tasks of a user as pairs, and the words of the kernel's files."""
    kernel = {
        "/proc/sys/kernel/pid_max": ["4194304"],
        "/proc/sys/net/ipv4/ip_local_port_range": ["32768", "60999"],
        "/proc/self/cgroup": ["0::/some"],
        "/sys/fs/cgroup/some/pids.max": ["max"],
    }
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    held = {resource.RLIMIT_NOFILE: unlimited, resource.RLIMIT_NPROC: unlimited}
    monkeypatch.setattr(drive, "_words_of", lambda path: kernel.get(path, []))
    monkeypatch.setattr(drive.resource, "getrlimit", held.__getitem__)
    monkeypatch.setattr(drive.resource, "setrlimit", held.__setitem__)
    monkeypatch.setattr(drive.os, "geteuid", lambda: 1000)
    return SimpleNamespace(kernel=kernel, held=held)


def test_a_machine_without_limits_has_room_for_every_model(limits):
    for each in (None, "CPU", "thread"):
        drive._check_limits(10_000, each)
    drive._check_limits(1000, "process")


@pytest.mark.parametrize(
    ("file", "words", "each", "sentence"),
    [
        ("/proc/sys/kernel/pid_max", ["4096"], "thread", "sysctl kernel.pid_max=20200"),
        ("/proc/sys/net/ipv4/ip_local_port_range", ["60000", "60999"], None, "sysctl net.ipv4.ip_local_port_range"),
        ("/sys/fs/cgroup/some/pids.max", ["500"], "thread", "set its pids.max to 10100"),
    ],
)
def test_a_limit_that_is_too_low_is_named_with_what_raises_it(limits, file, words, each, sentence):
    limits.kernel[file] = words
    with pytest.raises(Ended, match=sentence):
        drive._check_limits(10_000, each)


@pytest.mark.parametrize(
    ("which", "each", "sentence"),
    [(resource.RLIMIT_NOFILE, None, "ulimit -Hn 10100"), (resource.RLIMIT_NPROC, "thread", "ulimit -Hu 10100")],
)
def test_a_limit_of_the_user_is_raised_as_far_as_it_may_be(limits, which, each, sentence):
    limits.held[which] = (1024, 20_000)
    drive._check_limits(10_000, each)
    assert limits.held[which] == (10_100, 20_000)
    limits.held[which] = (1024, 4096)
    with pytest.raises(Ended, match=sentence):
        drive._check_limits(10_000, each)


def test_ports_do_not_concern_unix_sockets_but_the_length_of_their_path_does(limits, monkeypatch):
    limits.kernel["/proc/sys/net/ipv4/ip_local_port_range"] = ["60000", "60999"]
    monkeypatch.setattr(drive.tempfile, "gettempdir", lambda: "/tmp")
    drive._check_limits(10_000, None, "unix")
    monkeypatch.setattr(drive.tempfile, "gettempdir", lambda: "/long" * 20)
    with pytest.raises(Ended, match="TMPDIR=/tmp"):
        drive._check_limits(10_000, None, "unix")


def test_tasks_do_not_concern_a_model_of_few(limits):
    limits.held[resource.RLIMIT_NPROC] = (1024, 1024)
    limits.kernel["/proc/sys/kernel/pid_max"] = ["4096"]
    drive._check_limits(10_000, None)
    drive._check_limits(10_000, "CPU")


def test_processes_for_too_many_connections_are_not_started(limits):
    with pytest.raises(Ended, match="connections=2000"):
        drive._check_limits(2001, "process")
