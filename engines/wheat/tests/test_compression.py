# SPDX-License-Identifier: Apache-2.0
"""Compression while a client waits: what is compressed, what the headers then say, and that nothing is held back."""

from __future__ import annotations

import gzip
import http.client
import socket
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import PATIENCE_S, Server, run, serving, until
from talking import Answer, Client

APPLICATION = """
import pathlib, time

HERE = pathlib.Path(__file__).parent
TEXT = b"a line of the page, and another one\\n" * 200
LARGE = TEXT * 500

def waits():
    yield b"first "
    while not (HERE / "go-on").exists():
        time.sleep(0.01)
    yield b"second"

def application(environ, start_response):
    path = environ["PATH_INFO"]
    status, media_type, headers, answer = "200 OK", "text/html; charset=utf-8", [], [TEXT]
    if path == "/declared":
        headers = [("Content-Length", str(len(TEXT))), ("ETag", '"a"'), ("Accept-Ranges", "bytes"), ("Vary", "Cookie")]
    elif path == "/pieces":
        answer = [TEXT[:100], b"", TEXT[100:]]
    elif path == "/generator":
        answer = (TEXT[at : at + 1000] for at in range(0, len(TEXT), 1000))
    elif path == "/large":
        answer = [LARGE]
    elif path == "/waits":
        media_type, answer = "text/event-stream", waits()
    elif path == "/file":
        answer = environ["wsgi.file_wrapper"]((HERE / "large.txt").open("rb"))
    elif path == "/write":
        write = start_response(status, [("Content-Type", media_type)])
        write(TEXT)
        return [TEXT]
    elif path == "/short-of":
        headers, answer = [("Content-Length", str(len(TEXT) + 9))], iter([TEXT])
    elif path == "/more-than":
        headers, answer = [("Content-Length", "2000")], iter([TEXT])
    elif path == "/fails":
        answer = (TEXT[: 1 // (3 - at)] for at in range(4))
    elif path == "/small":
        answer = [b"short"]
    elif path == "/image":
        media_type = "image/png"
    elif path == "/encoded":
        headers = [("Content-Encoding", "compress")]
    elif path == "/no-transform":
        headers = [("Cache-Control", "no-transform")]
    elif path == "/part":
        status, headers = "206 Partial Content", [("Content-Range", f"bytes 0-{len(TEXT) - 1}/100000")]
    elif path == "/not-modified":
        status, headers, answer = "304 Not Modified", [("ETag", '"a"')], []
    elif path == "/missing":
        status = "404 Not Found"
    start_response(status, [("Content-Type", media_type), *headers])
    return answer
"""
TEXT = b"a line of the page, and another one\n" * 200
LARGE = TEXT * 500


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compression")
    (folder / "app.py").write_text(APPLICATION)
    (folder / "large.txt").write_bytes(LARGE)
    (folder / "files").mkdir()
    (folder / "files/page.html").write_bytes(TEXT)
    return folder


@pytest.fixture(scope="module", params=[1, 2])
def server(folder: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    options = ["--threads", request.param, "--compress", "gzip,br,zstd", "--static", "/files=files"]
    with serving("app", *options, "--access-log", "json", "--access-log-file", "log", folder=folder) as running:
        yield running


def get(server: Server, path: str, accepted: str = "gzip", method: str = "GET", **headers: str) -> Answer:
    with Client(server) as client:
        return client.ask(path, method=method, Accept_Encoding=accepted, **headers)


@pytest.mark.parametrize("path", ["/", "/declared", "/pieces", "/generator", "/missing", "/files/page.html"])
def test_what_suits_is_compressed(server: Server, path: str) -> None:
    answer = get(server, path)
    assert gzip.decompress(answer.body) == TEXT
    assert len(answer.body) < len(TEXT) / 10
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in ", ".join(answer.headers.get_all("Vary", []))
    assert answer.headers["Accept-Ranges"] is None
    # A length is that of what is sent, and is there where it can be known before.
    assert answer.headers["Content-Length"] == (None if path == "/generator" else str(len(answer.body)))
    plain = get(server, path, accepted="identity")
    assert (plain.status, plain.body, plain.headers["Content-Encoding"]) == (answer.status, TEXT, None)
    assert "Accept-Encoding" in ", ".join(plain.headers.get_all("Vary", [])), "a cache keeps the two apart"
    head = get(server, path, method="HEAD")
    assert (head.status, head.headers["Content-Encoding"], head.body) == (answer.status, "gzip", b"")
    assert head.headers["Content-Length"] in (None, answer.headers["Content-Length"])


def test_the_client_chooses_the_coding(server: Server) -> None:
    magic = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "br": b""}
    for accepted, coding in {
        "br": "br",
        "zstd": "zstd",
        "zstd, br;q=0.5": "zstd",
        "gzip, br": "gzip",
        "*": "gzip",
    }.items():
        answer = get(server, "/", accepted)
        assert answer.headers["Content-Encoding"] == coding
        assert answer.body.startswith(magic[coding])
        assert len(answer.body) < len(TEXT) / 10
    for accepted in ("deflate", "gzip;q=0", "identity", "gzip;q=2"):
        assert (get(server, "/", accepted).body, get(server, "/files/page.html", accepted).body) == (TEXT, TEXT)


@pytest.mark.parametrize("path", ["/small", "/image", "/encoded", "/no-transform", "/part"])
def test_what_does_not_suit_is_left_as_it_is(server: Server, path: str) -> None:
    answer = get(server, path)
    assert answer.body in (TEXT, b"short")
    assert answer.headers["Content-Encoding"] == ("compress" if path == "/encoded" else None)
    assert answer.headers["Vary"] is None
    assert answer.headers["Content-Length"] == str(len(answer.body))


def test_a_tag_is_weak_where_the_bytes_are_others(server: Server) -> None:
    assert get(server, "/declared", "identity").headers["ETag"] == '"a"'
    assert get(server, "/declared").headers["ETag"] == 'W/"a"'
    assert get(server, "/declared").headers.get_all("Vary") == ["Cookie", "Accept-Encoding"]
    assert get(server, "/not-modified").headers["ETag"] == 'W/"a"'
    assert get(server, "/not-modified", "identity").headers["ETag"] == '"a"'


@pytest.mark.parametrize("path", ["/large", "/file", "/write"])
def test_what_is_long_is_compressed_as_it_comes(server: Server, path: str) -> None:
    wanted = TEXT * 2 if path == "/write" else LARGE
    for accepted, opened in {"gzip": gzip.decompress, "br, zstd": None}.items():
        answer = get(server, path, accepted)
        assert answer.headers["Transfer-Encoding"] == "chunked"
        assert len(answer.body) < len(wanted) / 10
        assert opened is None or opened(answer.body) == wanted


def test_an_old_client_is_told_the_end_by_the_end(server: Server) -> None:
    with Client(server) as client:
        client.send(b"GET /large HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
        head, _, body = client.file.read().partition(b"\r\n\r\n")
    assert b"Transfer-Encoding" not in head
    assert gzip.decompress(body) == LARGE


@pytest.mark.parametrize("accepted", ["gzip", "br", "zstd"])
def test_what_streams_is_not_held_back(server: Server, folder: Path, accepted: str) -> None:
    (folder / "go-on").unlink(missing_ok=True)
    with Client(server) as client:
        client.send(b"GET /waits HTTP/1.1\r\nHost: h\r\nAccept-Encoding: " + accepted.encode() + b"\r\n\r\n")
        until(lambda: client.file.peek(1), "the head")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.file.readline()
        assert f"Content-Encoding: {accepted}\r\n".encode() in head
        chunk = client.file.read(int(client.file.readline(), 16))
        assert chunk, "the first piece comes while the application waits"
        if accepted == "gzip":
            assert zlib.decompressobj(31).decompress(chunk) == b"first "
        (folder / "go-on").touch()
        rest = client.file.readline()
        assert rest == b"\r\n"
        while size := int(client.file.readline(), 16):
            chunk += client.file.read(size)
            client.file.readline()
        assert accepted != "gzip" or gzip.decompress(chunk) == b"first second"


def test_a_body_that_is_not_as_declared_is_known_by_its_end(server: Server) -> None:
    short = get(server, "/short-of")
    assert short.cut
    server.wait_for(r"the application gave 7200 of the 7209 bytes of its Content-Length")
    more = get(server, "/more-than")
    assert gzip.decompress(more.body) == TEXT[:2000]
    assert get(server, "/fails").cut
    assert gzip.decompress(get(server, "/").body) == TEXT, "what failed is not in the next answer"


def test_many_answers_on_one_connection(server: Server) -> None:
    with Client(server) as client:
        for path in ("/", "/large", "/image", "/generator", "/small", "/", "/file"):
            answer = client.ask(path, Accept_Encoding="gzip")
            body = gzip.decompress(answer.body) if answer.headers["Content-Encoding"] else answer.body
            assert body == {"/large": LARGE, "/file": LARGE, "/small": b"short"}.get(path, TEXT), path


def test_a_slow_client_gets_all_of_it(folder: Path) -> None:
    noise = "import os; NOISE = os.urandom(6 << 20).hex().encode()"
    (folder / "noise.py").write_text(
        f"{noise}\ndef application(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Type', 'text/plain')])\n    return [NOISE]\n"
    )
    with serving("noise", "--compress", "gzip:1", "--spool", "64KiB", folder=folder) as server, socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        slow.settimeout(PATIENCE_S)
        slow.connect(("127.0.0.1", server.port))
        slow.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n")
        time.sleep(0.1)
        assert server.get()[0] == 200, "the application is free"
        response = http.client.HTTPResponse(slow)
        response.begin()
        assert len(gzip.decompress(response.read())) == 12 << 20


def test_the_log_has_the_bytes_that_were_sent(server: Server, folder: Path) -> None:
    answer = get(server, "/", Connection="close")
    until(lambda: f'"bytes":{len(answer.body)}' in (folder / "log").read_text().replace(" ", ""), "the line of the log")


def test_without_the_option_nothing_is_compressed(folder: Path) -> None:
    with serving("app", "--static", "/files=files", folder=folder) as server:
        for path in ("/", "/files/page.html"):
            answer = get(server, path, "gzip, br")
            assert (answer.body, answer.headers["Vary"]) == (TEXT, None)


def test_types_and_the_least_size_are_options(folder: Path) -> None:
    options = ["--compress", "gzip", "--compress-types", "image/*", "--compress-least", "7200"]
    with serving("app", *options, folder=folder) as server:
        assert get(server, "/image").headers["Content-Encoding"] == "gzip"
        assert get(server, "/").headers["Content-Encoding"] is None
    done = run("app", "--compress", "gzip:10", folder=folder)
    assert (done.returncode, "gzip has a level from 1 to 9" in done.stderr) == (64, True)
