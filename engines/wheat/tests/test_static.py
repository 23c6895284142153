# SPDX-License-Identifier: Apache-2.0
"""Static files over a running server: what the unit tests of `files` can't see, which is the sending, and the whole way
from a target on the wire to a file."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance.talk import Answer, Connection
from running import PATIENCE_S, Server, run, serving, until

SECRET = b"outside of the root"
TEXT = b"inside of the root\n"
LARGE = bytes(range(251)) * 33_000  # 8 MiB: no socket buffer takes it at once


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    root = folder / "root"
    (root / "d").mkdir(parents=True)
    (folder / "secret").write_bytes(SECRET)
    (root / ".hidden").write_bytes(SECRET)
    (root / "a.txt").write_bytes(TEXT)
    (root / "large.bin").write_bytes(LARGE)
    (root / "out").symlink_to("../secret")
    (root / "up").symlink_to("..")
    (root / "absolute").symlink_to(folder / "secret")
    (root / "device").symlink_to("/dev/zero")
    (root / "inside").symlink_to("d/../a.txt")
    os.mkfifo(root / "fifo")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving("--static", f"/s={folder}/root", bind=f"unix:{folder}/socket", folder=folder) as running:
        yield running


def ask(folder: Path, target: bytes, *fields: bytes, method: bytes = b"GET") -> Answer:
    request = b"\r\n".join([method + b" " + target + b" HTTP/1.1", b"Host: h", b"Connection: close", *fields, b"", b""])
    with Connection(str(folder / "socket")) as connection:
        connection.send(iter([request]))
        answer = connection.answer(to_head=method == b"HEAD")
        assert answer is not None
        assert connection.ends()
        return answer


NAMES_OF_THE_SECRET = r"""
    ../secret d/../../secret ..//secret .././secret %2e%2e/secret %2E%2E%2Fsecret ..%2fsecret ..%5csecret ..\secret
    %252e%252e/secret %252e%252e%252fsecret %c0%ae%c0%ae/secret %c0%ae%c0%ae%c0%afsecret %e0%80%ae%e0%80%ae/secret
    %u002e%u002e/secret ....//secret ..;/secret ..%00/secret a.txt%00 a.txt/../../secret /../secret //../secret
    %2f..%2fsecret %2e/%2e%2e/secret .%2e/secret out up/secret absolute d/../out device fifo .hidden %2ehidden d up up/
"""


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("prefix", [b"/s/", b"/s/d/", b"http://h/s/", b"/%73/"])
def test_no_target_leads_out_of_the_root(folder: Path, prefix: bytes) -> None:
    for name in NAMES_OF_THE_SECRET.split():
        answer = ask(folder, prefix + name.encode())
        assert answer.status in (400, 404), name
        assert SECRET not in answer.content, name
    assert ask(folder, b"/s/inside").content == TEXT, "a link within the root is followed"


@pytest.mark.usefixtures("server")
def test_a_large_file_comes_whole_and_in_parts(folder: Path) -> None:
    whole = ask(folder, b"/s/large.bin")
    assert (whole.status, whole.content == LARGE) == (200, True)
    head = ask(folder, b"/s/large.bin", method=b"HEAD")
    # A validator is weak in the second after the file was written, and strong from then on.
    plain = [answer.fields | {"date": "", "etag": answer.fields["etag"].removeprefix("W/")} for answer in (head, whole)]
    assert plain[0] == plain[1]
    part = ask(folder, b"/s/large.bin", b"Range: bytes=1000000-7999999")
    assert (part.status, part.content == LARGE[1_000_000:8_000_000]) == (206, True)
    several = ask(folder, b"/s/large.bin", b"Range: bytes=0-2999999,5000000-5000003,-2000000")
    boundary = several.fields["content-type"].partition("boundary=")[2].encode()
    parts = [part.partition(b"\r\n\r\n")[2] for part in several.content.split(b"--" + boundary)[1:-1]]
    assert parts == [piece + b"\r\n" for piece in (LARGE[:3_000_000], LARGE[5_000_000:5_000_004], LARGE[-2_000_000:])]
    unchanged = ask(folder, b"/s/large.bin", b"If-None-Match: " + whole.fields["etag"].encode())
    assert (unchanged.status, unchanged.content) == (304, b"")


@pytest.mark.usefixtures("server")
def test_pipelined_files_come_in_order_to_a_slow_reader(folder: Path) -> None:
    """Each answer larger than the socket takes waits, and what was asked after it waits behind it."""
    with Connection(str(folder / "socket")) as connection:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        names = (b"large.bin", b"a.txt", b"large.bin", b"none", b"a.txt")
        connection.socket.sendall(b"".join(b"GET /s/" + name + b" HTTP/1.1\r\nHost: h\r\n\r\n" for name in names))
        answers = [connection.answer() for _ in range(5)]
        assert [answer and (answer.status, len(answer.content)) for answer in answers] == [
            (200, len(LARGE)),
            (200, len(TEXT)),
            (200, len(LARGE)),
            (404, len(b"Not Found\n")),
            (200, len(TEXT)),
        ]


@pytest.mark.usefixtures("server")
def test_a_change_shows(folder: Path) -> None:
    """Replaced or written in place, kept in memory or sent from the file: until it shows the old content comes, and
    never a mixture."""
    paths = {size: folder / "root" / f"changing-{size}" for size in (100, 100_000)}
    contents = {size: [bytes([letter]) * (size + step) for step, letter in enumerate(b"abc")] for size in paths}

    def got() -> list[bytes]:
        return [ask(folder, b"/s/" + path.name.encode()).content for path in paths.values()]

    def show(step: int) -> None:
        def shown() -> bool:
            now = got()
            assert all(content in contents[size] for size, content in zip(paths, now, strict=True))
            return now == [contents[size][step] for size in paths]

        until(shown, f"contents {step}")

    for size, path in paths.items():
        path.write_bytes(contents[size][0])
    show(0)
    for size, path in paths.items():
        path.write_bytes(contents[size][1])
    show(1)
    for size, path in paths.items():
        beside = path.with_suffix(".new")
        beside.write_bytes(contents[size][2])
        beside.replace(path)
    show(2)
    for path in paths.values():
        path.unlink()
    until(lambda: got() == [b"Not Found\n"] * 2, "removed files are gone")


@pytest.mark.usefixtures("server")
def test_a_file_cut_short_while_it_is_sent_ends_the_connection(folder: Path) -> None:
    path = folder / "root" / "shrinking"
    path.write_bytes(LARGE)
    with Connection(str(folder / "socket")) as connection:
        connection.send(iter([b"GET /s/shrinking HTTP/1.1\r\nHost: h\r\n\r\n"]))
        while b"\r\n\r\n" not in connection.unread:
            assert connection.more()
        os.truncate(path, 1000)
        assert not connection.ends(), "what had come"
        head, _, content = connection.unread.partition(b"\r\n\r\n")
        assert f"Content-Length: {len(LARGE)}".encode() in head
        assert len(content) < len(LARGE)
    assert ask(folder, b"/s/a.txt").content == TEXT


def test_more_files_than_may_be_open_at_once(folder: Path, server: Server) -> None:
    many = folder / "root" / "many"
    many.mkdir()
    for number in range(600):
        (many / str(number)).write_bytes(b"%05d" % number * 8000)
    with Connection(str(folder / "socket")) as connection:
        for number in range(600):
            connection.send(iter([b"GET /s/many/%d HTTP/1.1\r\nHost: h\r\n\r\n" % number]))
            answer = connection.answer()
            assert answer is not None
            assert answer.content == b"%05d" % number * 8000
    opened = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in server.workers()]
    assert max(opened) < 400


def test_routes_stand_before_the_application(folder: Path) -> None:
    (folder / "app.py").write_text(
        "def application(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Length', '3')])\n"
        "    return [b'app']\n"
    )
    with serving("app:application", "--static", f"/s={folder}/root", folder=folder) as running:
        assert running.get("/") == (200, b"app")
        assert running.get("/sa.txt") == (200, b"app")
        assert running.get("/s/a.txt") == (200, TEXT)
        assert running.get("/s/none")[0] == 404
        assert running.get("/s/%2e%2e/secret")[0] == 404


def test_an_application_answers_for_what_is_no_file(folder: Path) -> None:
    (folder / "app.py").write_text(
        "def application(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        "    return [environ['REQUEST_METHOD'].encode(), environ['wsgi.input'].read()]\n"
    )
    arguments = ["--static", f"/={folder}/root", "--static-missing", "application"]
    headers = ["--static-header", "/=Cache-Control: public, max-age=3600"]
    for threads in (1, 2):
        with serving("app:application", *arguments, *headers, "--threads", threads, folder=folder) as running:
            assert running.get("/a.txt") == (200, TEXT)
            assert running.get("/none") == (200, b"GET")
            assert running.get("/") == (200, b"GET")
            connection = running.connect()
            connection.request("POST", "/a.txt", body=b"form")
            assert connection.getresponse().read() == b"POSTform"
            connection.request("GET", "/a.txt")
            answer = connection.getresponse()
            assert (answer.read(), answer.getheader("Cache-Control")) == (TEXT, "public, max-age=3600")
            connection.close()


def test_files_are_sent_to_many_at_once(folder: Path, server: Server) -> None:
    del server
    lengths: list[int] = []

    def fetch() -> None:
        lengths.extend(len(ask(folder, b"/s/large.bin").content) for _ in range(2))

    threads = [threading.Thread(target=fetch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert lengths == [len(LARGE)] * 16


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    done = run("--static", f"/s={tmp_path}/none", "--bind", f"unix:{tmp_path}/socket", folder=tmp_path)
    assert done.returncode == 78
    assert f"{tmp_path}/none" in done.stderr
    assert "Traceback" not in done.stderr
