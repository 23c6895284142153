# SPDX-License-Identifier: Apache-2.0
"""Counters: exact over the lives of workers, as `wheat stat` shows them and as Prometheus reads them."""

import os
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from running import PATIENCE_S, Server, program, run, serving, until

APPLICATION = """
import os

def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/fails":
        raise RuntimeError("on purpose")
    status = "404 Not Found" if path == "/none" else "200 OK"
    body = str(os.getpid()).encode()
    start_response(status, [("Content-Length", str(len(body)))])
    return [body]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "app.py").write_text(APPLICATION)
    return tmp_path


def metrics(server: Server, folder: Path) -> dict[str, float]:
    """Every sample by name and label values, as the client library of Prometheus reads the text."""
    text = run("stat", "--openmetrics", server.pid, folder=folder).stdout
    return samples(text)


def samples(text: str) -> dict[str, float]:
    families = list(text_string_to_metric_families(text))
    assert families
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in families
        for sample in family.samples
    }


def test_every_request_is_counted_once_whatever_becomes_of_the_workers(folder):
    with serving("app", "--workers", 2, folder=folder) as server:
        for _ in range(23):
            assert server.get()[0] == 200
        assert server.get("/none")[0] == 404
        assert server.get("/fails")[0] == 500
        victim = server.workers()[0]
        os.kill(victim, signal.SIGKILL)
        server.wait_for("ended by SIGKILL: it is replaced")
        server.signal(signal.SIGHUP)
        server.wait_for("wheat: reloaded")
        for _ in range(7):
            assert server.get()[0] == 200
        until(lambda: metrics(server, folder)["wheat_connections"] == 0, "every connection is closed")
        seen = metrics(server, folder)
    wanted = {
        "wheat_requests_total": 32,
        "wheat_responses_total 2xx": 30,
        "wheat_responses_total 4xx": 1,
        "wheat_responses_total 5xx": 1,
        "wheat_responses_total 3xx": 0,
        "wheat_application_errors_total": 1,
        "wheat_connections_accepted_total": 32,
        "wheat_connections_refused_total": 0,
        "wheat_requests_in_flight": 0,
        "wheat_worker_ends_total died": 1,
        "wheat_worker_ends_total hung": 0,
        "wheat_workers_wanted": 2,
        "wheat_generation": 2,
    }
    assert {name: seen[name] for name in wanted} == wanted
    assert seen["wheat_received_bytes_total"] > 32 * len("GET / HTTP/1.1\r\n\r\n")


def test_the_master_serves_them_to_prometheus(folder):
    with serving("app", "--metrics", "127.0.0.1:0", "--name", 'a "shop"', folder=folder) as server:
        server.wait_for("counters at")
        found = server.heard(r"counters at (http://\S+/metrics)")
        assert found
        assert server.get()[0] == 200
        with urllib.request.urlopen(found[1]) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
            seen = samples(answer.read().decode())
    assert seen["wheat_requests_total"] == 1
    assert any(name.startswith('wheat_info a "shop" http://127.0.0.1:') for name in seen)


def test_stat_shows_a_table_and_finds_its_server(folder):
    with serving("app", "--name", f"one-{os.getpid()}", folder=folder) as one:
        with serving("app", "--name", f"two-{os.getpid()}", "--pid-file", "two.pid", folder=folder) as two:
            assert two.get()[0] == 200
            for which in (two.pid, f"two-{os.getpid()}", "two.pid"):
                done = run("stat", which, folder=folder)
                assert done.returncode == 0, done.stderr
                lines = done.stdout.splitlines()
                assert lines[0].startswith(f"two-{os.getpid()}  http://127.0.0.1:{two.port}  master {two.pid}, up ")
                assert [line.split()[0] for line in lines[3:]] == ["worker", "0", "ended", "all"]
                assert lines[-1].split()[1] == "1"
            several = run("stat", folder=folder)
            assert several.returncode == 64
            assert f"{one.pid}  one-{os.getpid()}" in several.stderr
        gone = run("stat", two.pid, folder=folder)
        assert (gone.returncode, gone.stderr) == (69, f'wheat: no server "{two.pid}" is running\n')


def test_stat_goes_on_with_requests_a_second_until_its_server_ends(folder):
    with serving("app", folder=folder) as server:
        command = [program(), "stat", str(server.pid), "--watch=20ms"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
            assert watching.stdout
            assert watching.stderr
            tables = 0
            while tables < 3:
                line = watching.stdout.readline().split()
                tables += line[:1] == ["worker"]
                assert tables < 2 or line[:1] != ["worker"] or line[5:7] == ["a", "second"], line
            assert server.end() == 0
            watching.stdout.read()
            assert re.fullmatch(rf"wheat: app \(process {server.pid}\) has ended\n", watching.stderr.read())
            assert watching.wait(PATIENCE_S) == 69
