# SPDX-License-Identifier: Apache-2.0
"""The access log: off until asked for, a line for each request, in order over its rotation, safe to look at."""

import importlib
import json
import os
import re
import signal
import socket
import subprocess

import pytest
from running import PATIENCE_S, asking, missing, run, serving, until
from talking import Client

APPLICATION = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "app.py").write_text(APPLICATION)
    return tmp_path


def test_nothing_is_logged_unless_asked_for(folder):
    with serving("app", folder=folder, stdout=subprocess.PIPE) as server:
        assert server.get()[0] == 200
        assert server.end() == 0
        assert server.process.stdout
        assert server.process.stdout.read() == ""
        assert len(server.said) == 1, server.said


def test_combined_lines_go_to_standard_output(folder):
    with serving("app", "--access-log", "combined", folder=folder, stdout=subprocess.PIPE) as server:
        assert server.get("/a?b=c", Referer="http://here/", **{"User-Agent": "me/1"})[0] == 200
        assert server.process.stdout
        line = server.process.stdout.readline()
    moment = r"\[\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d \+0000\]"
    assert re.fullmatch(rf'127\.0\.0\.1 - - {moment} "GET /a\?b=c HTTP/1\.1" 200 2 "http://here/" "me/1"\n', line)


def test_json_lines_say_the_same(folder):
    with serving("app", "--access-log", "json", "--access-log-file", "log", folder=folder) as server:
        assert server.get("/a?b=c", **{"User-Agent": 'qu"ote\\\xff'})[0] == 200
        until((folder / "log").read_text, "the line is there")
        line = json.loads((folder / "log").read_text())
    assert 0 <= line.pop("duration_s") < 60
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    wanted = {"peer": "127.0.0.1", "method": "GET", "target": "/a?b=c", "version": "1.1", "status": 200, "bytes": 2}
    assert line == wanted | {"referer": None, "user_agent": 'qu"ote\\\xff', "reason": None}


REFUSED = {
    b"GET / HTTP/1.1\r\nHost: h\r\nA : b\r\n\r\n": (400, "a header name is malformed"),
    b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n": (414, "the request line is too long"),
    b"GET / HTTP/1.1\r\nHost: h\r\n" + b"A: b\r\n" * 101 + b"\r\n": (431, "there are too many header fields"),
}


@pytest.mark.parametrize("style", ["combined", "json"])
def test_a_refusal_is_logged_with_its_reason_and_its_bytes(folder, style):
    with serving("app", "--access-log", style, "--access-log-file", "log", folder=folder) as server:
        bodies = []
        for request in REFUSED:
            with Client(server) as client:
                client.send(request)
                bodies.append(client.answer().body)
        until(lambda: (folder / "log").read_text().count("\n") == len(REFUSED), "all are logged")
        lines = (folder / "log").read_text().splitlines()
    for line, body, (status, reason) in zip(lines, bodies, REFUSED.values(), strict=True):
        if style == "json":
            told = json.loads(line)
            assert (told["status"], told["bytes"], told["reason"]) == (status, len(body), reason)
        else:
            assert f'"- ({reason})" {status} {len(body)} ' in line


def test_a_full_disk_of_the_log_is_said(folder):
    with serving("app", "--access-log", "json", "--access-log-file", "/dev/full", folder=folder) as server:
        assert server.get()[0] == 200
        server.wait_for("the access log can't be written, and lines are lost: No space left")


def test_a_signal_to_a_worker_alone_opens_its_log_again_or_does_nothing(folder):
    with serving("app", "--access-log", "json", "--access-log-file", "log", folder=folder) as server:
        [worker] = server.workers()
        assert server.get("/before")[0] == 200
        until((folder / "log").read_text, "the line is there")
        (folder / "log").rename(folder / "log.1")
        os.kill(worker, signal.SIGUSR1)
        os.kill(worker, signal.SIGUSR2)
        until(lambda: server.get("/after")[0] == 200 and (folder / "log").exists(), "the new file is there")
        assert server.workers() == [worker]


@pytest.mark.parametrize("style", ["combined", "json"])
def test_no_client_writes_a_line_of_its_own(folder, style):
    with serving("app", "--access-log", style, "--access-log-file", "log", folder=folder) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b'GET /"\x1b[2J%0a127.0.0.1 HTTP/1.0\r\nUser-Agent: \x9b"\\\t\xe2\x80\xae\r\n\r\n')
            while client.recv(4096):
                pass
        assert server.get("/last")[0] == 200
        until(lambda: b"/last" in (folder / "log").read_bytes(), "the last line is there")
        log = (folder / "log").read_bytes()
    assert log.count(b"\n") == 2
    assert all(byte == 10 or 32 <= byte < 127 for byte in log)


def test_rotation_under_load_loses_no_line(folder):
    log, moved = folder / "log", folder / "log.1"
    with serving("app", "--workers", 2, "--access-log", "json", "--access-log-file", "log", folder=folder) as server:
        with asking(server) as load:
            until(lambda: len(load.answers) > 100, "it serves")
            log.rename(moved)
            server.signal(signal.SIGUSR1)
            until(lambda: log.exists() and log.stat().st_size, "the new file is written to")
            count = len(load.answers)
            until(lambda: len(load.answers) > count + 100, "it serves on")
        assert server.end() == 0
    lines = [json.loads(line) for path in (moved, log) for line in path.read_text().splitlines()]
    assert load.lost == []
    assert len(lines) == len(load.answers)


def test_a_format_has_every_field_of_gunicorn_and_its_values(folder):
    """As `--access-log-format` of gunicorn has them."""
    text = APPLICATION.replace('[("Content', '[("X-Made", "here"), ("Content').replace(
        "    start", '    environ["shop.user"] = "me"\n    start'
    )
    (folder / "app.py").write_text(text)
    names = ["h", "l", "u", "r", "m", "U", "q", "H", "s", "B", "b", "f", "a", "{X-Asked}i", "{x-made}o"]
    names += ["{content-length}o", "{shop.user}e", "{HTTP_HOST}e", "{X-None}i", "T", "p"]
    (folder / "files").mkdir()
    (folder / "files/a.txt").write_text("abc")
    format_ = "|".join(f"%({name})s" for name in names)
    options = ["--access-log-format", format_, "--access-log-file", "log", "--static", "/files=files"]
    for threads in (1, 2):
        with serving("app", "--threads", threads, *options, folder=folder) as server:
            headers = {"X-Asked": 'a "b"', "User-Agent": "me/1", "Authorization": "Basic bWU6cGFzcw=="}
            assert server.get("/a?b=c", **headers)[0] == 200
            assert server.get("/files/a.txt")[0] == 200
            [worker] = server.workers()
            assert server.end() == 0
        host = f"127.0.0.1:{server.port}"
        # In the order in which answers had left, which is not that of two threads.
        last = (folder / "log").read_text().splitlines()[-2:]
        second, first = sorted(last, key=lambda line: "/files/" not in line)
        request = "GET /a?b=c HTTP/1.1|GET|/a|b=c|HTTP/1.1|200|2|2"
        wanted = f"127.0.0.1|-|me|{request}|-|me/1|a \\x22b\\x22|here|2|me|{host}|-|0|<{worker}>"
        assert first == wanted
        assert second.startswith("127.0.0.1|-|-|GET /files/a.txt HTTP/1.1|GET|/files/a.txt||HTTP/1.1|200|3|3|-|")
        assert second.endswith(f"|-|-|3|-|-|-|0|<{worker}>")


def test_no_field_of_gunicorn_is_missing(folder):
    try:
        settings = importlib.import_module("gunicorn.config")
    except ImportError:
        missing("gunicorn is not installed in this Python")
    known = re.findall(r"^\s*\| (\w|\{\w+\}\w) +\|", settings.AccessLogFormat.desc, re.MULTILINE)
    assert len(known) > 15
    format_ = " ".join(f"%({name})s" for name in known) + settings.AccessLogFormat.default
    done = run("app", "--access-log-format", format_, "--check", folder=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_INET])
def test_a_syslog_gets_a_message_a_line_also_after_it_began_anew(folder, family):
    def listening(name) -> socket.socket:
        syslog = socket.socket(family, socket.SOCK_DGRAM)
        syslog.settimeout(PATIENCE_S)
        syslog.bind(name)
        return syslog

    def hears(syslog: socket.socket, path: str) -> None:
        assert server.get(path)[0] == 200
        message = ""
        while path not in message:
            message = syslog.recv(4096).decode()
        head = r"<30>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
        line = rf'127\.0\.0\.1 - - \[.*\] "GET {path} HTTP/1\.1" 200 2 "-" "-"'
        assert re.fullmatch(rf"{head} \S+ wheat {worker} access - {line}", message), message

    with listening(str(folder / "log") if family == socket.AF_UNIX else ("127.0.0.1", 0)) as first:
        name = first.getsockname()
        address = f"unix:{name}" if family == socket.AF_UNIX else "{}:{}".format(*name)
        options = ["--access-log", "combined", "--access-log-syslog", address]
        with serving("app", *options, folder=folder) as server:
            [worker] = server.workers()
            hears(first, "/one")
            hears(first, "/two")
            first.close()
            if family == socket.AF_UNIX:
                (folder / "log").unlink()
                assert server.get("/lost")[0] == 200
                server.wait_for("the access log can't be written, and lines are lost")
                until(lambda: server.get()[0] == 200 and lost(server, folder), "it is counted")
            with listening(name) as second:
                hears(second, "/three")


def lost(server, folder) -> bool:
    shown = run("stat", "--openmetrics", server.pid, folder=folder).stdout
    return bool(re.search(r"^wheat_log_lines_dropped_total [1-9]", shown, re.MULTILINE))
