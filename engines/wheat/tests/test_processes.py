# SPDX-License-Identifier: Apache-2.0
"""Master and workers: start, end, death, hanging, reload, signals."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from running import PATIENCE_S, Server, alive, asking, program, run, serving, until

#: Answers by path: who it is, when it is let go, and what must not happen to a server.
APPLICATION = """
import os, pathlib, threading, time

VERSION = "one"
HERE = pathlib.Path(__file__).parent

def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/hold":
        (HERE / f"held-{os.getpid()}").touch()
        while not (HERE / "let-go").exists():
            time.sleep(0.01)
    elif path == "/hang":
        (HERE / "hangs").touch()
        time.sleep(3600)
    elif path == "/die":
        os._exit(3)
    body = {"/version": VERSION, "/hold": "held"}.get(path, str(os.getpid())).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "app.py").write_text(APPLICATION)
    return tmp_path


def worker_of(server: Server) -> int:
    status, body = server.get()
    assert status == 200
    return int(body)


def held(folder: Path) -> list[Path]:
    return list(folder.glob("held-*"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_in_flight_are_answered_before_the_end(folder, number):
    with serving("app", "--workers", 2, folder=folder) as server:
        connection = server.connect()
        connection.request("GET", "/hold")
        until(lambda: held(folder), "the request is being answered")
        server.signal(number)
        port = server.port

        def refused():
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", port)) != 0

        until(refused, "nothing new is accepted")
        (folder / "let-go").touch()
        response = connection.getresponse()
        assert (response.status, response.read()) == (200, b"held")
        assert server.wait() == 0
        connection.close()


def test_ctrl_c_reaches_the_whole_group_and_ends_it_in_order(folder):
    with serving("app", folder=folder, start_new_session=True) as server:
        connection = server.connect()
        connection.request("GET", "/hold")
        until(lambda: held(folder), "the request is being answered")
        os.killpg(server.pid, signal.SIGINT)
        (folder / "let-go").touch()
        assert connection.getresponse().read() == b"held"
        assert server.wait() == 0
        assert not server.heard("KeyboardInterrupt")
        connection.close()


def test_the_deadline_ends_what_does_not_end(folder):
    with serving("app", "--deadline-graceful", "50ms", folder=folder) as server:
        connection = server.connect()
        connection.request("GET", "/hold")
        until(lambda: held(folder), "the request is being answered")
        workers = server.workers()
        assert server.end() == 0
        assert server.heard("did not end in time")
        until(lambda: not any(map(alive, workers)), "the worker is gone")
        connection.close()


def test_quit_waits_for_nobody(folder):
    with serving("app", folder=folder) as server:
        connection = server.connect()
        connection.request("GET", "/hold")
        until(lambda: held(folder), "the request is being answered")
        server.signal(signal.SIGQUIT)
        assert server.wait() == 0
        connection.close()


def test_a_worker_that_dies_is_replaced_and_loses_its_own_requests_only(folder):
    clients = 8
    with serving("app", "--workers", 2, folder=folder) as server, asking(server, clients=clients) as load:
        until(lambda: len(load.answers) > 100, "it serves")
        victim = int(load.answers[-1])
        os.kill(victim, signal.SIGKILL)
        server.wait_for(rf"worker \d \(process {victim}\) was ended by SIGKILL: it is replaced")
        until(lambda: len(server.workers()) == 2, "another one is there")
        newcomers = set(server.workers()) - {int(pid) for pid in load.answers}
        until(lambda: worker_of(server) in newcomers, "the new one answers too")
    # Each client has one request in flight at a time, and the victim had those of some of them.
    assert len(load.lost) <= clients, load.lost
    assert not [lost for lost in load.lost if "status" in lost]
    assert load.answers[-1] != str(victim).encode()


def test_workers_that_die_of_a_request_are_replaced(folder):
    with serving("app", folder=folder) as server:
        with pytest.raises(ConnectionError):
            server.get("/die")
        server.wait_for("ended with exit code 3: it is replaced")
        until(server.workers, "another one is there")
        assert worker_of(server) in server.workers()


def test_a_hung_worker_tells_where_and_is_replaced(folder):
    with serving("app", "--hang-after", "300ms", folder=folder) as server:
        first = server.workers()
        with pytest.raises(ConnectionError):
            server.get("/hang")
        server.wait_for(r"hangs: nothing has got on for 300ms, and it is replaced")
        # Python's own report, on SIGABRT.
        server.wait_for(r'File ".*app.py", line \d+ in application')
        assert worker_of(server) not in first


def test_an_idle_worker_is_not_hung(folder):
    with serving("app", "--hang-after", "50ms", "--workers", 2, folder=folder) as server:
        first = server.workers()
        with asking(server) as load:
            until(lambda: len(load.answers) > 500, "it serves")
        for _ in range(20):
            worker_of(server)
        assert server.workers() == first, server.said
        assert not load.lost


def test_a_reload_under_load_loses_nothing(folder):
    with serving("app", "--workers", 2, folder=folder) as server, asking(server, "/version") as load:
        for number in range(3):
            before, new = server.workers(), str(number).encode()
            (folder / "app.py").write_text(APPLICATION.replace('"one"', f'"{number}"'))
            server.signal(signal.SIGHUP)
            server.wait_for("wheat: reloaded", times=number + 1)
            until(lambda new=new: load.answers[-1] == new, "the new code answers")
            until(lambda before=before: not any(map(alive, before)), "the workers of before are gone")
            assert len(server.workers()) == 2
    assert load.lost == []
    assert {b"one", b"0", b"1", b"2"} == set(load.answers)


def test_an_idle_connection_survives_a_reload(folder):
    """Its client may be sending this moment; it gets its answer from the old code, and is told to come again."""
    with serving("app", folder=folder) as server:
        connection = server.connect()
        connection.request("GET", "/version")
        assert connection.getresponse().read() == b"one"
        (folder / "app.py").write_text(APPLICATION.replace('"one"', '"two"'))
        server.signal(signal.SIGHUP)
        server.wait_for("wheat: reloaded")
        assert server.get("/version") == (200, b"two")
        connection.request("GET", "/version")
        response = connection.getresponse()
        assert (response.read(), response.getheader("Connection")) == (b"one", "close")
        connection.close()


@pytest.mark.parametrize(
    "broken", ["raise RuntimeError('broken')", "import no_such_module", "import os; os.abort()", "application = None"]
)
def test_a_reload_of_broken_code_changes_nothing(folder, broken):
    with serving("app", "--workers", 2, folder=folder) as server, asking(server, "/version") as load:
        before = server.workers()
        (folder / "app.py").write_text(broken)
        server.signal(signal.SIGHUP)
        server.wait_for("the reload is given up: the workers of before go on")
        count = len(load.answers)
        until(lambda: len(load.answers) > count + 100, "it goes on")
        assert server.workers() == before
        (folder / "app.py").write_text(APPLICATION.replace('"one"', '"two"'))
        server.signal(signal.SIGHUP)
        server.wait_for("wheat: reloaded")
        until(lambda: load.answers[-1] == b"two", "the mended code answers")
    assert load.lost == []


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise RuntimeError('broken')", "RuntimeError: broken"),
        ("import no_such_module", "no_such_module"),
        ("other = 1", "application"),
        ("application = 1", "application"),
        ("import os; os.abort()", "SIGABRT"),
        ("import sys; sys.exit(0)", "app"),
        ("def application(", "SyntaxError"),
    ],
)
def test_an_application_that_cannot_be_loaded_ends_the_start(tmp_path, code, words):
    (tmp_path / "app.py").write_text(code)
    done = run("app", "--workers", 3, "--bind", "127.0.0.1:0", folder=tmp_path)
    assert done.returncode == 78
    assert words in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("wheat: ")
    assert "app can't be loaded" in last or "before it was ready" in last
    # One worker tried, not three.
    assert sum(line.startswith("wheat: ") for line in done.stderr.splitlines()) <= 2, done.stderr
    checked = run("app", "--check", folder=tmp_path)
    assert checked.returncode == 78
    assert words in checked.stderr


@pytest.mark.parametrize("bind", ["127.0.0.1:0", "unix:app.sock"])
def test_another_program_takes_over_without_losing_a_request(folder, bind):
    arguments = ["--workers", 2, "--pid-file", "pid", "--metrics", "127.0.0.1:0"]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving("app", *arguments, folder=folder, bind=bind))
        load = stack.enter_context(asking(server, "/version")) if bind.startswith("127") else None
        (folder / "app.py").write_text(APPLICATION.replace('"one"', '"two"'))
        server.signal(signal.SIGUSR2)
        server.wait_for("is started to take over, as process")
        found = server.heard(r"to take over, as process (\d+)")
        assert found
        successor = int(found[1])
        stack.callback(lambda: alive(successor) and os.kill(successor, signal.SIGKILL))
        server.wait_for(f"process {successor} has taken over")
        assert server.process.wait(PATIENCE_S) == 0
        assert (folder / "pid").read_text() == f"{successor}\n"
        if load:
            until(lambda: load.answers[-1] == b"two", "the new program answers")
            load.stop.set()
            assert load.lost == []
            assert server.get("/version") == (200, b"two")
        else:
            with socket.socket(socket.AF_UNIX) as client, client.makefile("rb") as answer:
                client.connect(str(folder / "app.sock"))
                client.sendall(b"GET /version HTTP/1.0\r\n\r\n")
                assert answer.read().endswith(b"\r\n\r\ntwo")
        os.kill(successor, signal.SIGTERM)
        until(lambda: not alive(successor), "the new one ends")
        assert not (folder / "pid").exists()
        assert not (folder / "app.sock").exists()


def test_a_program_that_fails_does_not_take_over(folder):
    with serving("app", "--pid-file", "pid", folder=folder) as server:
        before = server.workers()
        (folder / "app.py").write_text("broken")
        server.signal(signal.SIGUSR2)
        server.wait_for("did not take over: this one goes on")
        assert server.get("/version") == (200, b"one")
        assert (folder / "pid").read_text() == f"{server.pid}\n"
        until(lambda: server.children() == before, "nothing else is left")


@pytest.mark.parametrize("name", ["notify", "@wheat-test"])
def test_a_service_manager_is_told(folder, name):
    address = str(folder / name) if name[0] != "@" else f"\0{name[1:]}-{os.getpid()}"
    variables = {"NOTIFY_SOCKET": address.replace("\0", "@"), "WATCHDOG_USEC": "200000"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(PATIENCE_S)

        def hears(wanted):
            while not (told := manager.recv(1000).decode()).startswith(wanted):
                pass
            return told

        with serving("app", folder=folder, env=os.environ | variables) as server:
            hears("READY=1")
            hears("WATCHDOG=1")
            hears("WATCHDOG=1")
            server.signal(signal.SIGHUP)
            assert "MONOTONIC_USEC=" in hears("RELOADING=1")
            hears("READY=1")
            assert server.end() == 0
            hears("STOPPING=1")


def test_no_descriptors_are_said(folder):
    starter = ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh"]
    with serving("app", folder=folder, starter=starter) as server:
        connections = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
        for connection in connections:
            connection.sendall(b"G")
        server.wait_for("connections wait to be accepted: Too many open files")
        for connection in connections:
            connection.close()
        assert server.get("/version") == (200, b"one")


def test_a_certificate_that_is_wrong_is_not_blamed_on_the_application(folder):
    (folder / "none.pem").write_text("")
    done = run("app", "--tls-certificate", "none.pem", "--tls-key", "none.pem", folder=folder)
    assert done.returncode == 78
    assert "none.pem holds no PEM certificate" in done.stderr
    assert "app can't be loaded" not in done.stderr


def test_workers_are_added_and_removed(folder):
    with serving("app", folder=folder) as server:
        server.signal(signal.SIGTTIN)
        until(lambda: len(server.workers()) == 2, "one more")
        server.signal(signal.SIGTTOU)
        until(lambda: len(server.workers()) == 1, "one less")
        server.signal(signal.SIGTTOU)
        worker_of(server)
        assert len(server.workers()) == 1, "the last one stays"


def test_no_worker_outlives_a_killed_master(folder):
    with serving("app", "--workers", 3, folder=folder) as server:
        workers, port = server.workers(), server.port
        assert len(workers) == 3
        server.process.kill()
        server.wait()
        until(lambda: not any(map(alive, workers)), "the workers are gone")
        with serving("app", folder=folder, bind=f"127.0.0.1:{port}") as next_one:
            assert worker_of(next_one) not in workers


def test_a_worker_is_replaced_before_it_leaves(folder):
    with serving("app", "--max-requests", 100, "--workers", 2, folder=folder) as server, asking(server) as load:
        until(lambda: len(set(load.answers)) > 6, "workers come and go")
    assert load.lost == []
    # Each answers what it had begun when another one is ready: more than a hundred, never without end.
    assert all(load.answers.count(pid) >= 90 for pid in sorted(set(load.answers), key=load.answers.index)[:4])


def test_workers_stand_on_their_cpus(folder):
    cpus = sorted(os.sched_getaffinity(0))
    with serving("app", "--affinity", "auto", "--workers", len(cpus) + 1, folder=folder) as server:
        found = sorted(tuple(os.sched_getaffinity(pid)) for pid in server.workers())
        assert found == sorted((cpu,) for cpu in [*cpus, cpus[0]])
        assert os.sched_getaffinity(server.pid) == set(cpus)
    with serving("app", "--affinity", str(cpus[-1]), "--workers", 2, folder=folder) as server:
        assert [os.sched_getaffinity(pid) for pid in server.workers()] == [{cpus[-1]}] * 2


def test_what_an_application_starts_inherits_nothing(tmp_path):
    (tmp_path / "app.py").write_text(
        textwrap.dedent("""
        import subprocess, sys
        CODE = "import os, signal; print(os.listdir('/proc/self/fd'), signal.pthread_sigmask(0, []))"
        def application(environ, start_response):
            start_response("200 OK", [])
            return [subprocess.run([sys.executable, "-c", CODE], close_fds=False, stdout=subprocess.PIPE).stdout]
        """)
    )
    with serving("app", folder=tmp_path, pass_fds=()) as server:
        # Standard input, output and error, and the folder that is being listed.
        assert server.get()[1].decode().strip() == "['0', '1', '2', '3'] set()"


def test_the_process_id_is_in_its_file_while_it_lives(folder):
    with serving("app", "--pid-file", "wheat.pid", folder=folder) as server:
        assert (folder / "wheat.pid").read_text() == f"{server.pid}\n"
        assert server.end() == 0
    assert not (folder / "wheat.pid").exists()


def test_a_unix_socket_is_served_and_removed(folder):
    with serving("app", "--socket-mode", "600", folder=folder, bind="unix:app.sock") as server:
        path = folder / "app.sock"
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /version HTTP/1.0\r\n\r\n")
            with client.makefile("rb") as answer:
                assert answer.read().endswith(b"\r\n\r\none")
        assert server.end() == 0
        assert not path.exists()
    with serving("app", folder=folder, bind="unix:app.sock") as server:
        server.process.kill()
        server.wait()
        assert path.exists(), "nobody was there to remove it"
    with serving("app", folder=folder, bind="unix:app.sock"):
        pass


def test_sockets_of_a_service_manager_are_taken(folder):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        # As systemd does it: the socket is descriptor 3, and the variables name the process.
        code = (
            "import os, sys\n"
            "os.dup2(int(sys.argv[1]), 3, inheritable=True)\n"
            "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n"
            "os.execv(sys.argv[2], sys.argv[2:])\n"
        )
        starter = [sys.executable, "-c", code, str(listener.fileno())]
        with serving("app", folder=folder, bind=None, starter=starter, pass_fds=[listener.fileno()]) as server:
            assert server.port == port
            assert server.get("/version") == (200, b"one")


def test_several_addresses_at_once(folder):
    with serving("app", "--bind", "unix:app.sock", "--bind", "localhost:0", folder=folder) as server:
        said = server.heard("serving app at (.*) with")
        assert said
        assert len(said[1].split(", ")) >= 3
        assert server.get("/version") == (200, b"one")


def test_many_connections_wait_their_turn(folder):
    """A worker that is busy holds up nobody whom another one could serve: the queue is one."""
    with serving("app", "--workers", 2, folder=folder) as server:
        connection = server.connect()
        connection.request("GET", "/hold")
        until(lambda: held(folder), "one worker is busy")
        for _ in range(100):
            assert server.get("/version") == (200, b"one")
        (folder / "let-go").touch()
        assert connection.getresponse().read() == b"held"
        connection.close()


def test_a_second_server_is_told_that_the_port_is_taken(folder):
    with serving("app", folder=folder) as server:
        done = run("app", "--bind", f"127.0.0.1:{server.port}", folder=folder)
        assert done.returncode == 69
        what = f"can't listen on 127.0.0.1:{server.port}"
        expected = f"wheat: {what}: another program listens there: end it, or choose another --bind\n"
        assert done.stderr == expected


def test_a_program_without_wheat_cannot_be_the_interpreter(folder):
    done = run("app", "--python", "/bin/false", "--bind", "127.0.0.1:0", folder=folder)
    assert (done.returncode, "is wheat installed there?" in done.stderr) == (78, True)
    done = run("app", "--python", folder / "none", "--bind", "127.0.0.1:0", folder=folder)
    assert (done.returncode, "it does not exist" in done.stderr) == (69, True)


def test_a_worker_is_not_started_by_hand(folder):
    program()
    done = subprocess.run(
        [sys.executable, "-c", "from wheat._wheat import serve; serve()", "app"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 64
    assert "started by its master" in done.stderr
