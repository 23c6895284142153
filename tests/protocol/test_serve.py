# SPDX-License-Identifier: Apache-2.0
"""Every model of serve/ answers as the service does, to clients of every kind. Models are found by looking.

A model is started here as the instrument starts it, with --serve, and asked by sockets; what the instrument makes of a
run is in test_serve_instrument.py.
"""

import contextlib
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from steelyard.measure import catalog
from tests import processes
from tests.long import LONG
from tests.protocol.serving import MODELS, drive

#: Those that keep a process or a thread for each connection have no more connections than these.
FEW = {"prefork": 90, "fork": 500}
MANY = 10_000 if LONG else 1_000
TARGET = "/1000/0/1/0/64"


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    """The name of a model and the port on which it serves."""
    path = MODELS[request.param]
    if path.suffix == ".skip":
        processes.missing(path.read_text().strip())
    if path.suffix != ".py":
        about = subprocess.run([*catalog.command(path), "--about"], capture_output=True, text=True, check=False)
        assert about.returncode == 0, about.stderr
        if reason := json.loads(about.stdout).get("lacks"):
            pytest.skip(reason)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, MANY + 200)), hard))
    try:
        with serving(request.param) as port:
            yield request.param, port
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def serving(name, path=None, **environment):
    """A model that serves on a port, or at the path of a UNIX socket; the one or the other."""
    where = drive.free_port() if path is None else str(path)
    command = [*catalog.command(MODELS[name]), "--serve", str(where), "100", "--placement", "free"]
    service = subprocess.Popen(
        command, stderr=subprocess.PIPE, start_new_session=True, env={**os.environ, **environment}
    )
    try:
        processes.until(lambda: service.poll() is not None or _answers(where), f"{name} serves")
        assert service.poll() is None, service.stderr.read().decode()
        yield where
        assert service.poll() is None, "no client ended it"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(service.pid, signal.SIGKILL)
        service.communicate()


def _answers(where):
    with contextlib.suppress(OSError):
        return drive.ask(where, TARGET, b"")
    return None


def connected(port):
    return socket.create_connection((drive.HOST, port), timeout=20)


def right(answer, target=TARGET, body=b""):
    assert drive.complaint_about(answer, target, body) is None


@pytest.mark.parametrize("body", [b"", b"x", b"y" * 5000, bytes(range(256)) * 256])
@pytest.mark.parametrize("target", ["/0/0/1/0/27", "/3000/0/1/0/100", "/2000/1500/1/1/65536", "/1000/1000/40/0/64"])
def test_it_does_what_is_asked_for(model, target, body):
    right(drive.ask(model[1], target, body), target, body)


def test_one_connection_serves_many_requests(model):
    with connected(model[1]) as connection:
        for number in range(20):
            body = b"%d" % number
            connection.sendall(drive.request(TARGET, body))
            right(drive.read_answer(connection)[0], TARGET, body)


def test_requests_that_are_sent_together_are_answered_in_turn(model):
    bodies = [b"a" * number for number in range(10)]
    with connected(model[1]) as connection:
        connection.sendall(b"".join(drive.request("/1000/1000/1/0/64", body) for body in bodies))
        rest = b""
        for body in bodies:
            answer, rest = drive.read_answer(connection, rest)
            right(answer, "/1000/1000/1/0/64", body)


def test_a_request_may_come_in_pieces_of_a_byte(model):
    with connected(model[1]) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in drive.request(TARGET, b"in pieces"):
            connection.sendall(bytes([byte]))
        right(drive.read_answer(connection)[0], TARGET, b"in pieces")


@pytest.mark.parametrize("target", [TARGET, "/1000/20000/1/0/64"])
def test_who_sends_no_more_still_has_the_answer(model, target):
    with connected(model[1]) as connection:
        connection.sendall(drive.request(target, b"the last"))
        connection.shutdown(socket.SHUT_WR)
        right(drive.read_answer(connection)[0], target, b"the last")
        assert connection.recv(1) == b"", "and then the connection is closed"


def test_who_reads_slowly_has_the_whole_answer(model):
    target = f"/0/0/1/0/{1 << 18}"
    with connected(model[1]) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 15)
        connection.sendall(drive.request(target, b""))
        time.sleep(0.1)
        right(drive.read_answer(connection)[0], target)
    right(drive.ask(model[1], TARGET, b""))


def test_who_resets_harms_nobody_else(model):
    for asked in (b"", b"POST /10", drive.request("/1000/5000/1/0/64", b""), drive.request(f"/0/0/1/0/{1 << 20}", b"")):
        connection = connected(model[1])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(asked)
        connection.close()
    right(drive.ask(model[1], TARGET, b""))


@pytest.mark.parametrize(
    "asked",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"hello\r\n\r\n",
        b"POST /1/2/3/4/5/6 HTTP/1.1\r\n\r\n",
        b"POST /0/0/0/0/27 HTTP/1.1\r\n\r\n",
        b"POST /0/0/1/0/26 HTTP/1.1\r\n\r\n",
        b"POST /-1/0/1/0/64 HTTP/1.1\r\n\r\n",
        b"POST /99999999999999999999/0/1/0/64 HTTP/1.1\r\n\r\n",
        b"POST /0/0/1/0/64 HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST /0/0/1/0/64 HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
        b"POST /0/0/1/0/64 HTTP/1.1\r\nX: " + b"x" * 5000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused(model, asked):
    with connected(model[1]) as connection:
        connection.sendall(asked)
        came = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := connection.recv(4096):
                came += chunk
    assert came.startswith(b"HTTP/1.1 400 ")
    right(drive.ask(model[1], TARGET, b""))


def test_it_holds_many_connections(model):
    name, port = model
    wanted = min(MANY, FEW.get(name, MANY))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < wanted + 200:
        pytest.skip(f"{wanted} connections need {wanted + 200} open files and the limit is lower")
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connected(port)) for _ in range(wanted)]
        for connection in (held[0], held[wanted // 2], held[-1]):
            connection.sendall(drive.request(TARGET, b"one of many"))
            right(drive.read_answer(connection)[0], TARGET, b"one of many")


def test_it_serves_connections_of_a_unix_socket_too(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("s") / "socket"
    with serving(model[0], path), drive.connect(str(path)) as connection:
        connection.sendall(drive.request(TARGET, b"one") + drive.request("/1000/1500/3/1/5000", b"another"))
        answer, rest = drive.read_answer(connection)
        right(answer, TARGET, b"one")
        right(drive.read_answer(connection, rest)[0], "/1000/1500/3/1/5000", b"another")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b"", "who sends no more has the end of the connection"


def test_it_waits_for_the_answer_of_another_service(model):
    name, _ = model
    asked = []
    with socket.create_server((drive.HOST, 0)) as listener:

        def answer():
            connection, _ = listener.accept()
            with connection:
                while question := connection.recv(8, socket.MSG_WAITALL):
                    asked.append(question)
                    connection.sendall(question)

        threading.Thread(target=answer, daemon=True).start()
        with serving(name, STEELYARD_SERVE_ASKED=str(listener.getsockname()[1])) as port, connected(port) as connection:
            for target in ("/1000/1500/1/0/64", "/1000/70000/20/1/64"):
                connection.sendall(drive.request(target, b"waits"))
                right(drive.read_answer(connection)[0], target, b"waits")
    assert asked == [b"000005dc", b"00011170"], "as many us as each request is to wait"


def test_the_second_service_answers_each_asker():
    program = catalog.native_folder() / "probes" / "support" / "serve" / "asked"
    service = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    port = int(service.stdout.readline())
    with connected(port) as slow, connected(port) as quick, connected(port) as leaving:
        slow.sendall(b"00030d40")
        leaving.sendall(b"00000001")
        leaving.close()
        for question in (b"00000001", b"00000000"):
            quick.sendall(question[:3])
            quick.sendall(question[3:])
            assert quick.recv(8, socket.MSG_WAITALL) == question
        assert slow.recv(8, socket.MSG_WAITALL) == b"00030d40"
    service.communicate()
    assert service.returncode == 0, "it ends with its standard input"
