# SPDX-License-Identifier: Apache-2.0
"""What proxies in front say of a request: believed from where it was said to be trusted, and from nowhere else."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from running import serving, until
from talking import Client

APPLICATIONS = Path(__file__).parent / "applications"
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
FROM = socket.inet_aton("192.0.2.7") + socket.inet_aton("192.0.2.1") + b"\x12\x34\0\x50"


def environ(client: Client, **headers: str) -> dict:
    return json.loads(client.ask("/env", **headers).body)


def told(env: dict) -> tuple[str, str, str]:
    return env["REMOTE_ADDR"], env["wsgi.url_scheme"], env["HTTP_HOST"]


FIELDS = {
    "X_Forwarded_For": "6.6.6.6, 192.0.2.7, 127.0.0.1",
    "X_Forwarded_Proto": "https",
    "X_Forwarded_Host": "shop.example",
    "Forwarded": "for=192.0.2.8;proto=https;host=other.example",
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ("127.0.0.1", "http", "test")),
        (["--trust", "10.0.0.0/8,unix"], ("127.0.0.1", "http", "test")),
        (["--trust", "127.0.0.0/8"], ("192.0.2.7", "https", "shop.example")),
        (["--trust", "127.0.0.1", "--forwarded", "forwarded"], ("192.0.2.8", "https", "other.example")),
    ],
)
def test_only_proxies_that_are_trusted_are_believed(tmp_path, threads, arguments, expected):
    log = ["--access-log", "json", "--access-log-file", tmp_path / "log", "--threads", threads]
    with serving("contract:application", *arguments, *log, folder=APPLICATIONS) as server, Client(server) as client:
        assert told(environ(client, **FIELDS)) == expected
        assert told(environ(client)) == ("127.0.0.1", "http", "test"), "nothing is left of the request before"
        until(lambda: (tmp_path / "log").read_text().count("\n") == 2, "both are logged")
        assert json.loads((tmp_path / "log").read_text().splitlines()[0])["peer"] == expected[0]


def test_a_unix_socket_can_be_trusted(tmp_path):
    bind = f"unix:{tmp_path}/a.sock"
    with (
        serving("contract:application", "--trust", "unix", folder=APPLICATIONS, bind=bind),
        socket.socket(socket.AF_UNIX) as client,
    ):
        client.connect(f"{tmp_path}/a.sock")
        client.sendall(b"GET /env HTTP/1.0\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["REMOTE_ADDR"] == "192.0.2.7"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (b"PROXY TCP4 192.0.2.7 192.0.2.1 4660 80\r\n", ("192.0.2.7", "http")),
        (b"PROXY UNKNOWN\r\n", ("127.0.0.1", "http")),
        (SIGNATURE + b"\x21\x11\0\x0c" + FROM, ("192.0.2.7", "http")),
        (SIGNATURE + b"\x21\x11\0\x14" + FROM + b"\x20\0\5\1\0\0\0\0", ("192.0.2.7", "https")),
        (SIGNATURE + b"\x20\0\0\0", ("127.0.0.1", "http")),
    ],
)
def test_the_proxy_protocol_says_where_a_connection_comes_from(header, expected):
    with serving("contract:application", "--proxy-protocol", "127.0.0.0/8", folder=APPLICATIONS) as server:
        request = b"GET /env HTTP/1.1\r\nHost: test\r\n\r\n"
        with Client(server) as client:
            client.send(header + request)
            assert told(json.loads(client.answer().body)) == (*expected, "test")
            assert told(environ(client)) == (*expected, "test"), "for all its requests"
        with Client(server) as client:
            for byte in header + request:
                client.send(bytes([byte]))
            assert told(json.loads(client.answer().body)) == (*expected, "test")


def test_what_does_not_begin_with_its_header_is_ended():
    with serving("contract:application", "--proxy-protocol", "127.0.0.1", folder=APPLICATIONS) as server:
        for said in (b"GET /env HTTP/1.1\r\nHost: test\r\n\r\n", b"PROXY nonsense\r\n", SIGNATURE + b"\x31"):
            with Client(server) as client:
                client.send(said + b"\0" * 16)
                assert client.is_closed()
    with serving("contract:application", "--proxy-protocol", "10.0.0.0/8", folder=APPLICATIONS) as server:
        with Client(server) as client:
            assert told(environ(client)) == ("127.0.0.1", "http", "test"), "others need none"
        with Client(server) as client:
            client.send(b"PROXY TCP4 192.0.2.7 192.0.2.1 4660 80\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
            assert client.answer().status == 400
