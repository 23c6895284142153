# SPDX-License-Identifier: Apache-2.0
"""The database and the search daemon that applications ask: made for a run, answering rightly, and gone with it."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.measure import catalog
from tests import processes

#: By application, the process that has to run for it.
STORES = {"page_postgresql": "postgres", "search_searchd": "searchd"}
SKIPPED = 77

every_store = pytest.mark.parametrize("application", STORES)


@pytest.fixture
def mark():
    made = processes.a_mark()
    yield made
    processes.kill_marked(made)


def environment(mark: str, folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, processes.MARK: mark, "TMPDIR": str(folder), **more}


def started(way: str, application: str, environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    program = catalog.find_programs(catalog.probe_folders())[f"request/{way}"]
    command = [sys.executable, program, f"application={application}", *arguments, "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def ran(way: str, application: str, environment: dict[str, str]) -> list[dict]:
    """The lines of a short run; skips where it cannot be had."""
    with started(way, application, environment, "--operations", "40", "--values", "2") as process:
        out, err = process.communicate(timeout=processes.PATIENCE_S)
    if process.returncode == SKIPPED:
        processes.missing(err.strip())
    assert process.returncode == 0, err
    return [json.loads(line) for line in out.splitlines()]


def left_behind() -> set[str]:
    """Segments of System V, shared memory and folders of this machine that a store could have made."""
    lines = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    segments = {line[1] for line in lines if not Path(f"/proc/{line[4]}").exists()}  # who made it is gone
    named = {path.name for path in Path("/dev/shm").glob("PostgreSQL*")}
    return segments | named | {path.name for path in Path("/tmp").glob(f"steelyard-{os.getuid()}-*[a-z]-*")}


@every_store
def test_a_server_asks_it_and_nothing_of_it_is_left(application, tmp_path, mark):
    before = left_behind()
    lines = ran("wsgiref", application, environment(mark, tmp_path))
    values = [line for line in lines if line["type"] == "value"]
    assert len(values) == 2
    assert all(value["readings"]["store_cpu"] > 0 for value in values), "it was asked, on an account of its own"
    assert processes.gone(mark)
    assert list(tmp_path.iterdir()) == []
    processes.until(lambda: left_behind() <= before, "nothing of it is left")


@every_store
def test_the_application_alone_asks_it_as_well(application, tmp_path, mark):
    [first, *_] = [line for line in ran("in_process", application, environment(mark, tmp_path)) if "counts" in line]
    assert first["counts"]["checked"] == first["operations"] == 40
    assert processes.gone(mark)


@every_store
def test_when_the_probe_is_killed_nothing_of_it_lives_on(application, tmp_path, mark):
    before = left_behind()
    name = STORES[application]
    arguments = ("--values", "1000", "--target", "1s")
    with started("wsgiref", application, environment(mark, tmp_path), *arguments) as process:

        def is_up() -> bool:
            ended = process.poll() is not None
            return ended or name in {processes.name_of(pid) for pid in processes.marked(mark)}

        processes.until(is_up, f"{name} runs")
        if process.poll() == SKIPPED:
            processes.missing(process.stderr.read().strip())
        process.kill()
        process.wait()
    processes.until(lambda: processes.gone(mark), "nothing of it lives on", 20)
    processes.until(lambda: list(tmp_path.iterdir()) == [] or _only_of_the_probe(tmp_path), "its folder is gone", 20)
    processes.until(lambda: left_behind() <= before, "nothing of it is left")


def _only_of_the_probe(folder: Path) -> bool:
    """Whether what is there was made by the probe itself, which under a launcher goes with the run's scratch."""
    return all(path.name.startswith("request-") for path in folder.iterdir())


@every_store
def test_where_it_is_not_installed_the_case_is_skipped_with_what_to_install(application, tmp_path, mark):
    path = tmp_path / "bin"
    path.mkdir()
    for tool in ("wrk", "ab", "env"):
        with contextlib.suppress(TypeError):
            (path / tool).symlink_to(shutil.which(tool))
    processes.tool("wrk", "ab")
    if application == "page_postgresql" and list(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        pytest.skip("PostgreSQL is found where Debian keeps it, whatever the PATH")
    with started("wsgiref", application, environment(mark, tmp_path, PATH=str(path))) as process:
        out, err = process.communicate(timeout=processes.PATIENCE_S)
    assert (process.returncode, out) == (SKIPPED, "")
    assert "apt-get install" in err


#: A cluster as the probes make it, which stays until its input ends.
A_CLUSTER = """
import signal, sys
sys.path[:0] = sys.argv[1:]
signal.alarm(100)
from stores import AbsentError, Postgresql
store = Postgresql(".")
try:
    import psycopg
    store.start(None)
except (AbsentError, ImportError) as error:
    sys.exit(str(error))
complaint = store.wait(lambda: psycopg.connect(store.address()).close())
print(complaint or store.address(), flush=True)
sys.stdin.read()
store.end()
"""


def test_a_database_that_a_dsn_names_is_asked_and_left_as_it_was(tmp_path, mark):
    support = catalog.native_folder() / "probes" / "support"
    command = [sys.executable, "-c", A_CLUSTER, support / "request", support / "python"]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment(mark, tmp_path), **streams) as holder:
        dsn = holder.stdout.readline().strip()
        if not dsn:
            processes.missing(holder.stderr.read().strip())
        import psycopg

        with psycopg.connect(dsn, autocommit=True) as database:
            relations = "SELECT count(*) FROM pg_class"
            before = database.execute(relations).fetchone()
            lines = ran("wsgiref", "page_postgresql", environment(mark, tmp_path, STEELYARD_REQUEST_DSN=dsn))
            # A backend drops its temporary tables after its client has gone.
            processes.until(lambda: database.execute(relations).fetchone() == before, "no table is left", 20)
        holder.communicate()
    assert holder.returncode == 0
    values = [line for line in lines if line["type"] == "value"]
    assert [value["counts"]["with_a_store"] for value in values] == [0, 0], "whose CPU time is not known"
    assert processes.gone(mark)
