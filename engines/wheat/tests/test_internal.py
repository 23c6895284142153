# SPDX-License-Identifier: Apache-2.0
"""X-Accel-Redirect to files, pages for errors, headers of all answers, and names that are tried."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Server, run, serving
from talking import Answer, Client
from test_static import NAMES_OF_THE_SECRET

LARGE = bytes(range(256)) * 4096
TEXT = b"a line of the file, and another one\n" * 100

APPLICATION = """
import urllib.parse

def broken():
    raise RuntimeError("as it was told to")
    yield b""

def application(environ, start_response):
    path, query = environ["PATH_INFO"], urllib.parse.parse_qs(environ["QUERY_STRING"])
    environ["wsgi.input"].read()
    if path == "/fail":
        raise RuntimeError("as it was told to")
    headers = [("X-Accel-Redirect", query["file"][0])] if "file" in query else []
    headers += [(name, value) for pair in query.get("header", []) for name, _, value in [pair.partition(":")]]
    start_response("200 OK", headers)
    return broken() if "broken" in query else [b"never sent"] if headers else [b"the application"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("internal")
    (folder / "app.py").write_text(APPLICATION)
    for name, content in {
        "kept/large.bin": LARGE,
        "kept/a b.txt": TEXT,
        "kept/d/e.txt": b"deep",
        "secret": b"outside of the root",
        "kept/.hidden": b"outside of the root",
        "public/page.html": b"<h1>page</h1>",
        "public/d/index.html": b"<h1>index</h1>",
        "none.html": b"<h1>none</h1>",
        "sorry.txt": b"sorry",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(content)
    for name, target in {"out": "../secret", "up": "..", "absolute": folder / "secret", "device": "/dev/zero"}.items():
        (folder / "kept" / name).symlink_to(target)
    return folder


OPTIONS = [
    *("--internal", "/kept=kept", "--static", "/s=public", "--try-files", "/s=$uri.html,$uri/index.html,404"),
    *("--header", "X-Content-Type-Options: nosniff", "--error-page", "404=none.html", "--error-page", "5xx=sorry.txt"),
    *("--static-header", "text/*=Cache-Control: max-age=9", "--compress", "gzip"),
]


@pytest.fixture(scope="module", params=[1, 2])
def server(folder: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    with serving("app", *OPTIONS, "--threads", request.param, folder=folder) as running:
        yield running


def redirect(server: Server, target: str, *more: str, method: str = "GET", body=None, **headers: str) -> Answer:
    query = "&".join([f"file={target}", *(f"header={header}" for header in more)])
    with Client(server) as client:
        return client.ask(f"/?{query}", body, method, **headers)


def test_the_file_is_the_answer(server: Server) -> None:
    whole = redirect(server, "/kept/large.bin", "Content-Type:application/x-thing", "Set-Cookie:a=b")
    assert (whole.status, whole.body == LARGE) == (200, True)
    assert (whole.headers["Content-Length"], whole.headers["Content-Type"]) == (str(len(LARGE)), "application/x-thing")
    assert (whole.headers["Set-Cookie"], whole.headers["X-Accel-Redirect"]) == ("a=b", None)
    assert (whole.headers.get_all("Date"), whole.headers["ETag"] is None) == ([whole.headers["Date"]], False)
    head = redirect(server, "/kept/large.bin", method="HEAD")
    assert (head.status, head.headers["Content-Length"], head.body) == (200, str(len(LARGE)), b"")
    assert head.headers["Content-Type"] == "application/octet-stream", "of the file, where the application names none"
    post = redirect(server, "/kept/large.bin", method="POST", body=b"x" * 10, Range="bytes=0-1")
    assert (post.status, len(post.body)) == (200, len(LARGE))
    assert redirect(server, "/kept/d/e.txt", "Content-Length:5000", "ETag:x").body == b"deep"


def test_parts_and_conditions_are_of_the_file(server: Server) -> None:
    part = redirect(server, "/kept/large.bin", "Content-Type:application/x-thing", Range="bytes=1000-1999")
    assert (part.status, part.body == LARGE[1000:2000]) == (206, True)
    assert part.headers["Content-Range"] == f"bytes 1000-1999/{len(LARGE)}"
    several = redirect(server, "/kept/large.bin", "Content-Type:application/x-thing", Range="bytes=0-1,9-9")
    assert several.headers.get_all("Content-Type")[0].startswith("multipart/byteranges")
    assert redirect(server, "/kept/large.bin", Range="bytes=9999999-").status == 416
    tag = redirect(server, "/kept/large.bin").headers["ETag"]
    unchanged = redirect(server, "/kept/large.bin", "Content-Type:application/x-thing", If_None_Match=tag)
    assert (unchanged.status, unchanged.body, unchanged.headers["Content-Type"]) == (304, b"", None)


def test_it_is_compressed_as_other_files(server: Server) -> None:
    answer = redirect(server, "/kept/a%2520b.txt", Accept_Encoding="gzip")
    assert (answer.headers["Content-Encoding"], gzip.decompress(answer.body)) == ("gzip", TEXT)
    assert answer.headers["Cache-Control"] == "max-age=9"


def test_no_name_leads_out_of_the_folder(server: Server) -> None:
    for name in NAMES_OF_THE_SECRET.split():
        answer = redirect(server, f"/kept/{name.replace('%', '%25')}")
        assert answer.status in (400, 404), name
        assert b"outside" not in answer.body, name
    for target in (
        "/s/page.html",
        "/secret",
        "kept/large.bin",
        "http://h/kept/large.bin",
        "/keptlarge.bin",
        "/kept",
        "//",
    ):
        assert redirect(server, target).status == 404, target


def test_clients_cannot_ask_for_it(server: Server) -> None:
    assert server.get("/kept/large.bin") == (200, b"the application")


def test_a_failure_after_it_is_a_failure(server: Server) -> None:
    with Client(server) as client:
        answer = client.ask("/?file=/kept/large.bin&broken=1")
        assert (answer.status, answer.body) == (500, b"sorry")
        assert client.ask("/").body == b"the application", "and the connection goes on"


def test_without_the_option_it_is_a_header(folder: Path) -> None:
    with serving("app", folder=folder) as plain:
        answer = redirect(plain, "/kept/large.bin")
        assert (answer.body, answer.headers["X-Accel-Redirect"]) == (b"never sent", "/kept/large.bin")


def test_pages_of_errors(server: Server) -> None:
    for path, status, body, media_type in [
        ("/s/none", 404, b"<h1>none</h1>", "text/html"),
        ("/?file=/elsewhere", 404, b"<h1>none</h1>", "text/html"),
        ("/fail", 500, b"sorry", "text/plain"),
    ]:
        with Client(server) as client:
            answer = client.ask(path)
            assert (answer.status, answer.body, answer.headers["Content-Type"]) == (status, body, media_type), path
            head = client.ask(path, method="HEAD")
            assert (head.status, head.headers["Content-Length"], head.body) == (status, str(len(body)), b"")
    with Client(server) as client:
        client.send(b"GET / HTTP/1.1\r\n\r\n")
        answer = client.answer()
        assert (answer.status, b"Host is missing" in answer.body) == (400, True), "without a page in our words"


def test_headers_of_all_answers(server: Server) -> None:
    with Client(server) as client:
        for path in ("/", "/s/page.html", "/s/none", "/fail", "/?file=/kept/large.bin"):
            assert client.ask(path).headers.get_all("X-Content-Type-Options") == ["nosniff"], path
        client.send(b"GET / HTTP/9.9\r\n\r\n")
        assert client.answer().headers["X-Content-Type-Options"] == "nosniff"


def test_names_are_tried(server: Server) -> None:
    assert server.get("/s/page") == (200, b"<h1>page</h1>")
    assert server.get("/s/d") == (200, b"<h1>index</h1>")
    assert server.get("/s/d/") == (200, b"<h1>index</h1>")
    assert server.get("/s/x")[0] == 404


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["app", "--internal", "/a=none"], 78, "it does not exist"),
        (["app", "--error-page", "404=none"], 78, "it does not exist"),
        (["app", "--error-page", "200=app.py"], 64, "STATUS=FILE"),
        (["app", "--header", "Date: x"], 64, "a header that the server does not set itself"),
        (["app", "--try-files", "/a=$uri.html"], 64, "no --static has this prefix"),
        (["--static", "/=.", "--try-files", "/=application"], 64, "needs an application"),
        (["--static", "/=.", "--internal", "/a=."], 64, "--internal needs an application"),
        (["app", "--static-header", "/a=A: b"], 64, "no --static has this prefix"),
    ],
)
def test_a_mistake_is_one_sentence(folder: Path, arguments: list[str], code: int, words: str) -> None:
    done = run(*arguments, "--bind", "127.0.0.1:0", folder=folder)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
    assert words in done.stderr
