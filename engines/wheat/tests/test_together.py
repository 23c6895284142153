# SPDX-License-Identifier: Apache-2.0
"""Requests that come together: each client gets its own answers, whatever the others do."""

import contextlib
import socket

from running import serving, until
from talking import Client

APPLICATION = """
import pathlib, time

HERE = pathlib.Path(__file__).parent

def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/hold":
        (HERE / "held").touch()
        while not (HERE / "let-go").exists():
            time.sleep(0.01)
    body = path.encode() * (1000 if path.startswith("/long") else 1)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
"""
CLIENTS = 120


def request(path: str, *fields: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: h", *fields, "", ""]).encode()


def test_each_client_gets_its_own_answers(tmp_path):
    (tmp_path / "app.py").write_text(APPLICATION)
    with serving("app", folder=tmp_path) as server, contextlib.ExitStack() as stack:
        holder, *clients = [stack.enter_context(Client(server)) for _ in range(CLIENTS + 1)]
        for client in clients:
            assert client.ask("/first").body == b"/first"
        holder.send(request("/hold"))
        until((tmp_path / "held").exists, "the worker is busy, so that all that follows comes to it at once")
        for number, client in enumerate(clients):
            match number % 6:
                case 0:
                    client.send(request(f"/{number}"))
                case 1:
                    client.send(request(f"/{number}") + request(f"/again{number}"))
                case 2:
                    client.send(request(f"/{number}"))
                    client.socket.shutdown(socket.SHUT_WR)
                case 3:
                    client.send(request(f"/{number}", "Connection: close") + b"what nobody asked for")
                case 4:
                    client.send(request(f"/long{number}"))
                case 5:
                    client.send(request(f"/{number}") + request("/rest")[:9])
        (tmp_path / "let-go").touch()
        for number, client in reversed(list(enumerate(clients))):
            wanted = f"/long{number}".encode() * 1000 if number % 6 == 4 else f"/{number}".encode()
            assert client.answer().body == wanted
            match number % 6:
                case 1:
                    assert client.answer().body == f"/again{number}".encode()
                case 2 | 3:
                    assert client.is_closed()
                case 5:
                    client.send(request("/rest")[9:])
                    assert client.answer().body == b"/rest"
        assert holder.answer().body == b"/hold"
