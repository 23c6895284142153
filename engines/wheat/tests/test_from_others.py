# SPDX-License-Identifier: Apache-2.0
"""The page for those who come from gunicorn and nginx is true: its configurations answer alike, and every name in its
tables exists."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import importlib
import re
import socket
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import PATIENCE_S, Server, missing, run, serving, tool, until
from talking import Answer, Client

PAGE = Path(__file__).parents[3] / "docs/how-to/move-from-gunicorn-and-nginx.md"
TEXT = PAGE.read_text()
STYLE = b"body { color: black }\n" * 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("others")
    for name, text in re.findall(r"^```\w+ title=\"([^\"]+)\"\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE):
        (folder / name).write_text(text)
    (folder / "public/assets").mkdir(parents=True)
    (folder / "public/about.html").write_text("<h1>About</h1>\n")
    (folder / "invoices").mkdir()
    (folder / "invoices/7.txt").write_text("an invoice\n" * 10)
    (folder / "public/assets/site.css").write_bytes(STYLE)
    (folder / "public/assets/site.css.gz").write_bytes(gzip.compress(STYLE))
    return folder


@contextlib.contextmanager
def running(folder: Path, *command: object) -> Iterator[None]:
    with (folder / "said").open("ab") as said:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, stdout=said, stderr=said)
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def status_at(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


@pytest.fixture(scope="module")
def pair(folder: Path) -> Iterator[Server]:
    """gunicorn behind nginx."""
    gunicorn = Path(sys.executable).with_name("gunicorn")
    if not gunicorn.exists():
        missing("gunicorn is not installed beside this Python")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # As whoever runs the tests, and with its temporary files in this folder.
    text = (folder / "nginx.conf").read_text().replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/temporary-{kind};" for kind in kinds)
    (folder / "nginx.conf").write_text("user root;" + text.replace("http {", "http {" + places))
    with (
        running(folder, gunicorn, "-c", "gunicorn.conf.py", "shop:application"),
        running(folder, tool("nginx"), "-p", folder, "-c", "nginx.conf", "-g", "daemon off;"),
    ):
        until(lambda: status_at(port) == 200, f"gunicorn and nginx answer; see {folder}/said")
        yield types.SimpleNamespace(port=port)


@pytest.fixture(scope="module")
def wheat(folder: Path) -> Iterator[Server]:
    with serving("--config", "wheat.toml", folder=folder) as server:
        yield server


def about(answer: Answer) -> tuple:
    """What has to be alike: of errors, only that they are of one kind."""
    if answer.status >= 400:
        return (answer.status,)
    names = ("Content-Type", "Content-Encoding", "Content-Range", "Cache-Control", "Last-Modified")
    is_packed = answer.headers["Content-Encoding"] == "gzip"
    body = gzip.decompress(answer.body) if is_packed and answer.body else answer.body
    return answer.status, body, [answer.headers[name] for name in names]


@pytest.mark.parametrize(
    ("path", "method", "body", "headers", "status"),
    [
        ("/", "GET", None, {}, 200),
        ("/?a=b%20c", "GET", None, {}, 200),
        ("/", "HEAD", None, {}, 200),
        ("/order", "POST", b"x" * 100_000, {}, 200),
        ("/order", "POST", None, {"Content_Length": "5000000"}, 413),
        ("/order", "PUT", b"", {}, 200),
        ("/none", "GET", None, {}, 404),
        ("/catalogue", "GET", None, {}, 200),
        ("/catalogue", "GET", None, {"Accept_Encoding": "gzip"}, 200),
        ("/invoice", "GET", None, {}, 200),
        ("/invoice", "HEAD", None, {}, 200),
        ("/invoice", "GET", None, {"Range": "bytes=3-9"}, 206),
        ("/invoice", "GET", None, {"Range": "bytes=5000-"}, 416),
        ("/invoices/7.txt", "GET", None, {}, 404),
        ("/about.html", "GET", None, {}, 200),
        ("/assets/none.css", "GET", None, {}, 404),
        ("/assets/site.css", "GET", None, {}, 200),
        ("/assets/site.css", "HEAD", None, {}, 200),
        ("/assets/site.css", "GET", None, {"Accept_Encoding": "gzip"}, 200),
        ("/assets/site.css", "GET", None, {"Range": "bytes=5-9"}, 206),
        ("/assets/site.css", "GET", None, {"Range": "bytes=5000-"}, 416),
        ("/" + "a" * 9000, "GET", None, {}, 414),
        ("/%zz", "GET", None, {}, 400),
    ],
)
def test_both_answer_alike(pair: Server, wheat: Server, path, method, body, headers, status) -> None:
    answers = []
    for server in (pair, wheat):
        with Client(server) as client:
            answers.append(client.ask(path, body, method, **headers))
    assert about(answers[0]) == about(answers[1])
    assert answers[1].status == status, answers[1]
    if path == "/catalogue" and headers:
        assert answers[1].headers["Content-Encoding"] == "gzip"


def test_the_hook_has_connected_each_worker(wheat: Server) -> None:
    assert b'"connected": true' in wheat.get("/")[1]


def test_neither_gives_away_what_lies_beside_the_files(pair: Server, wheat: Server) -> None:
    for server in (pair, wheat):
        for path in ("/../shop.py", "/%2e%2e/shop.py", "/assets/../../shop.py", "/shop.py"):
            with Client(server) as client:
                answer = client.ask(path)
                assert answer.status in (400, 404), path
                assert b"database" not in answer.body


def column(section: str, number: int) -> set[str]:
    """The names in one column of the table of a section."""
    rows = re.findall(r"^\| (.*) \|$", TEXT.partition(f"\n## {section}\n")[2].partition("\n## ")[0], re.MULTILINE)[2:]
    assert len(rows) > 10
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[number])}


def test_every_setting_of_the_tables_exists(tmp_path: Path) -> None:
    known = run("--help", folder=tmp_path).stdout
    ours = column("gunicorn's settings", 1) | column("nginx's directives", 1)
    assert {name for name in ours - {"application"} if f"{name} " not in known} == set()
    try:
        config = importlib.import_module("gunicorn.config")
    except ImportError:
        missing("gunicorn is not installed in this Python")
    assert column("gunicorn's settings", 0) - set(config.make_settings()) == set()


def test_every_directive_of_the_table_exists() -> None:
    """A directive in no place where it belongs is another complaint than one that is unknown."""
    nginx = tool("nginx")
    for name in sorted(column("nginx's directives", 0)):
        done = subprocess.run([nginx, "-t", "-g", f"{name} x;"], capture_output=True, text=True, check=False)
        assert f'unknown directive "{name}"' not in done.stderr, name
