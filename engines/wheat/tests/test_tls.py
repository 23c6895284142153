# SPDX-License-Identifier: Apache-2.0
"""TLS, for the application and for files."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest
from running import run, serving, tool
from talking import Client

APPLICATIONS = Path(__file__).parent / "applications"


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A certificate for localhost that nobody signed but itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    kind = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout key.pem -out cert.pem"
    name = "-subj /CN=localhost -addext subjectAltName=DNS:localhost"
    command = [tool("openssl"), "req", "-x509", *kind.split(), *name.split()]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (folder / "large").write_bytes(bytes(range(256)) * 8192)
    return folder


@pytest.fixture(scope="module", params=["inline", "threads"])
def server(request, pair):
    way = ["--threads", "2"] if request.param == "threads" else []
    files = ["--tls-certificate", pair / "cert.pem", "--tls-key", pair / "key.pem", "--static", f"/files={pair}"]
    with serving("contract:application", *way, *files, folder=APPLICATIONS) as running:
        yield running


@pytest.fixture
def wrap(pair):
    context = ssl.create_default_context(cafile=pair / "cert.pem")
    context.set_alpn_protocols(["h2", "http/1.1"])
    return lambda plain: context.wrap_socket(plain, server_hostname="localhost")


def test_application_and_files(server, pair, wrap):
    with Client(server, wrap) as client:
        assert client.socket.selected_alpn_protocol() == "http/1.1"
        assert client.ask("/hello").body == b"hello"
        assert client.ask("/generator").body == b"0\n1\n2\n"
        assert client.ask("/files/large").body == (pair / "large").read_bytes()
        assert b'"wsgi.url_scheme": "https"' in client.ask("/env").body


def test_a_protocol_that_is_not_http_says_no_other_name(pair, wrap, tmp_path):
    (tmp_path / "app.py").write_text("def application(line):\n    return line * 20_000\n")
    options = ["--protocol", "line", "--tls-certificate", pair / "cert.pem", "--tls-key", pair / "key.pem"]
    with serving("app", *options, folder=tmp_path) as server, Client(server, wrap) as client:
        assert server.heard("serving app at tls://127")
        assert client.socket.selected_alpn_protocol() is None
        client.send(b"ab\ncd\n")
        assert [client.file.readline() for _ in range(2)] == [b"ab" * 20_000 + b"\n", b"cd" * 20_000 + b"\n"]


def test_large_bodies_both_ways(server, wrap):
    body = bytes(range(256)) * 8192
    with Client(server, wrap) as client:
        assert client.ask("/reads?read", body).body == body
        assert len(client.ask("/big?16777216").body) == 16 << 20
        assert client.ask("/wrapped?large").body == bytes(range(250)) * 12_000


def test_who_does_not_speak_tls_is_no_harm(server, wrap):
    with Client(server) as plain:
        plain.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        assert plain.file.read(2) != b"HT"
    with Client(server, wrap) as client:
        assert client.ask("/hello").body == b"hello"


def test_a_certificate_without_its_key_is_refused(pair):
    other = pair / "large"
    done = run(
        "contract:application",
        "--tls-certificate",
        pair / "cert.pem",
        "--tls-key",
        other,
        "--check",
        folder=APPLICATIONS,
    )
    assert done.returncode != 0
    assert "key" in done.stderr


def test_an_encrypted_key_is_said_to_be_encrypted(pair, tmp_path):
    locked = tmp_path / "locked.pem"
    command = ["pkey", "-in", pair / "key.pem", "-aes256", "-passout", "pass:secret", "-out", locked]
    subprocess.run([tool("openssl"), *command], check=True, capture_output=True)
    with_key = ["--tls-certificate", pair / "cert.pem", "--tls-key", locked]
    done = run("contract:application", "--check", *with_key, folder=APPLICATIONS)
    assert done.returncode == 78
    assert f"the key {locked} is encrypted: decrypt it" in done.stderr


def test_a_header_of_the_proxy_protocol_comes_before_tls(pair, wrap):
    files = ["--tls-certificate", pair / "cert.pem", "--tls-key", pair / "key.pem"]
    with serving("contract:application", "--proxy-protocol", "127.0.0.1", *files, folder=APPLICATIONS) as server:

        def after_header(plain):
            plain.sendall(b"PROXY TCP4 192.0.2.7 192.0.2.1 4660 80\r\n")
            return wrap(plain)

        with Client(server, after_header) as client:
            assert b'"REMOTE_ADDR": "192.0.2.7"' in client.ask("/env").body
