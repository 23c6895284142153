# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in a session file: every command that reads one ends with a sentence, soon, and in little memory."""

import json
import os
import random
import socket
import subprocess
import sys
import time

import msgspec
import pytest

from steelyard import errors
from steelyard.__main__ import main
from steelyard.errors import SessionFileError
from steelyard.keep import session as sessions
from steelyard.keep.folder import overview
from steelyard.keep.session import SUFFIX
from steelyard.lab.browser import Browser
from tests.hostile.corpus import ODD, REFUSED, changed, mutation, written
from tests.long import LONG, parts
from tests.many import WHOLE

CASE = "example/swept[n=10,kind=thread]@same"
pytestmark = pytest.mark.usefixtures("_nothing_hangs")
SQL = (
    "SELECT count(*), sum(c.median), sum(n.number) FROM cases c JOIN runs USING (session, case_name) "
    "JOIN figures n USING (session, case_name)"
)
QUICK = {
    "show": ["show", "FILE"],
    "show --json": ["show", "FILE", "--json"],
    "compare": ["compare", "WHOLE", "FILE"],
    "check": ["check", "FILE", "WHOLE"],
    "claims": ["claims", "FILE"],
    "history": ["history", CASE, "FILE", "WHOLE"],
    "query": ["query", SQL, "FILE"],
    "import": ["import", "FILE", "-o", "OUT"],
    "fleet report": ["fleet", "report", "FILE", "WHOLE"],
    **{f"export {name}": ["export", "FILE", "--format", name] for name in ("csv", "pyperf", "openmetrics", "junit")},
    **{f"ui {page}": ["ui", page] for page in ("/", "/session", "/compare", "/history")},
}
SLOW = {
    "report": ["report", "FILE", "-o", "OUT"],
    "ui /report": ["ui", "/report"],
    **{
        f"export {name}": ["export", "FILE", "--format", name, "-o", "OUT"]
        for name in ("benchstat", "hyperfine", "google-benchmark", "markdown", "bencher", "parquet")
    },
}
#: Verdicts, and the errors that are foreseen; what nobody foresaw is none of them.
ENDS = {0, 1, 2} | {
    error.exit_code
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, errors.SteelyardError) and error is not errors.SteelyardError
}


def ends(command, path):
    """The exit code of a command, which is one of those that are foreseen; `ui` stands for one page of it."""
    if command[0] == "ui":
        return page_of(path, command[1])
    out = path.with_suffix(".out")
    out.unlink(missing_ok=True)
    places = {"FILE": str(path), "WHOLE": str(WHOLE), "OUT": str(out)}
    code = main([places.get(word, word) for word in command])
    assert code in ENDS
    return code


def page_of(path, page):
    """The exit code that belongs to a page: of the file beside a whole session where it shows two."""
    beside = path.with_name(f"whole{SUFFIX}")
    if not beside.exists():
        beside.write_bytes(WHOLE.read_bytes())
    of_file = {"session": [path.name, beside.name][: 2 if page == "/compare" else 1]}
    asked = {"/": {}, "/history": {"case": [CASE]}}.get(page, of_file)
    try:
        assert Browser(path.parent, str).page(page, asked).startswith("<!doctype html>")
    except errors.SteelyardError as error:
        return error.exit_code
    return 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_have_been_measured_is_refused_in_one_sentence(name, tmp_path, capsys):
    change, words = REFUSED[name]
    path = written(tmp_path / f"a{SUFFIX}", changed(change))
    with pytest.raises(SessionFileError) as refused:
        sessions.read(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)
    assert ends(QUICK["show"], path) == SessionFileError.exit_code
    assert ends(QUICK["query"], path) == SessionFileError.exit_code
    assert "\n" not in capsys.readouterr().err.strip().split("\n")[-1]


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_breaks_no_command(name, tmp_path):
    path = written(tmp_path / f"a{SUFFIX}", changed(ODD[name]))
    sessions.read(path)
    for command in (*QUICK.values(), *SLOW.values()):
        ends(command, path)


def truncated(drawn):
    """The whole session as it is after a kill at any byte."""
    data = WHOLE.read_bytes()
    return data[: drawn.randrange(len(data))]


def flipped(drawn):
    """The whole session with one to four bits of it turned over."""
    data = bytearray(WHOLE.read_bytes())
    for _ in range(drawn.randint(1, 4)):
        data[drawn.randrange(len(data))] ^= 1 << drawn.randrange(8)
    return bytes(data)


def restructured(drawn):
    """The whole session with lines and fields changed, so that it still is JSON."""
    return "".join(json.dumps(line) + "\n" for line in mutation(drawn)).encode()


#: How the files are made, how many there are in `make test` and in `make test-all`.
DAMAGED = {"truncation": (truncated, 40, 500), "flip": (flipped, 60, 1000), "structure": (restructured, 150, 1000)}
PARTS = [
    pytest.param(make, part, files, id=f"{kind}-{part}")
    for kind, (make, few, many) in DAMAGED.items()
    for part, files in parts(few, many)
]


@pytest.mark.parametrize(("make", "part", "files"), PARTS)
def test_no_damage_to_a_session_breaks_a_command(make, part, files, tmp_path):
    """Each file goes through two commands that are drawn, in `make test-all` through three of all."""
    seed = time.time_ns() if LONG else part + 7
    print(f"seed {seed}")
    drawn, path, read = random.Random(seed), tmp_path / f"a{SUFFIX}", 0
    for _ in range(files):
        path.write_bytes(make(drawn))
        try:
            sessions.read(path)
        except SessionFileError:
            assert ends(QUICK["show"], path) == SessionFileError.exit_code
            continue
        read += 1
        for command in drawn.sample([*QUICK.values(), *(SLOW.values() if LONG else ())], 3 if LONG else 2):
            ends(command, path)
    # Files that are all refused would test one command only.
    assert read > files / 10


@pytest.mark.parametrize("make", ["fifo", "socket", "folder", "device"])
def test_what_is_no_regular_file_is_refused_at_once(make, tmp_path):
    path = tmp_path / f"a{SUFFIX}"
    if make == "fifo":
        os.mkfifo(path)
    elif make == "folder":
        path.mkdir()
    elif make == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    with pytest.raises(SessionFileError, match=r"regular file|cannot be read"):
        sessions.read(path)
    with pytest.raises(SessionFileError, match=r"regular file|cannot be read"):
        overview(path)
    (tmp_path / f"b{SUFFIX}").write_bytes(WHOLE.read_bytes())
    for command in (["history", CASE, str(tmp_path)], ["query", "SELECT count(*) FROM runs", str(tmp_path)]):
        assert main(command) == 0


# VmHWM, and not ru_maxrss: the latter begins with the memory of the process that called vfork, here pytest's worker.
MEMORY = """
import sys
from steelyard.__main__ import main
code = main(sys.argv[1:])
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) // 1024, file=sys.stderr)
sys.exit(code)
"""


def measured(*arguments):
    """Exit code and the most memory, in MiB, of a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=600
    )
    assert "Traceback" not in done.stderr
    return done.returncode, int(done.stderr.split()[-1])


def a_sparse_line(path):
    with path.open("wb") as file:
        file.truncate(1 << 30)


def a_long_line(path):
    with path.open("wb") as file:
        file.write(WHOLE.read_bytes())
        file.truncate(100 << 20)


def many_entries(path):
    """As many counts as there is room for, each of a name of its own."""
    base = WHOLE.read_text().splitlines()
    run = msgspec.json.decode(next(line for line in base if '"role":"block"' in line))
    run["values"] = [{"operations": 1, "wall_ns": 1, "counts": {f"{n:x}": 1 for n in range(100_000)}}] * 3
    data = msgspec.json.encode(run) + b"\n"
    with path.open("wb") as file:
        file.write("\n".join(base[:-5]).encode() + b"\n")
        for _ in range((120 << 20) // len(data)):
            file.write(data)


def many_values(path):
    base = WHOLE.read_text().splitlines()
    run = msgspec.json.decode(next(line for line in base if '"role":"block"' in line))
    run["values"] = [{"operations": 1, "wall_ns": 1}] * 200_000
    data = msgspec.json.encode(run) + b"\n"
    with path.open("wb") as file:
        file.write("\n".join(base[:-5]).encode() + b"\n")
        for _ in range(20):
            file.write(data)


@pytest.mark.parametrize("make", [a_sparse_line, a_long_line, many_entries, many_values])
def test_no_file_takes_more_than_500_megabytes_to_be_refused(make, tmp_path):
    path = tmp_path / f"a{SUFFIX}"
    make(path)
    code, most = measured("show", path)
    path.unlink()
    assert code == SessionFileError.exit_code
    assert most < 500


def test_a_session_that_grows_too_large_is_ended_before_it_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "_HEAVIEST", 2_000_000)
    whole, path = sessions.read(WHOLE), tmp_path / f"a{SUFFIX}"

    def fill(writer):
        for _ in range(10_000):
            writer.append(whole.runs[0])

    with sessions.SessionWriter.create(path, whole.header) as writer:
        writer.append(whole.plan)
        with pytest.raises(SessionFileError, match="as many runs as a session may"):
            fill(writer)
    assert len(sessions.read(path).runs) > 100


@pytest.mark.parametrize("cost", [1e308, 1e-308, 5e18, -1.0, 0.0])
def test_costs_of_another_tool_that_nothing_has_are_a_sentence(cost, tmp_path, capsys):
    runs = [{"values": [cost] * 3} for _ in range(3)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": "1.0", "metadata": {"name": "loop"}, "benchmarks": [{"runs": runs}]}))
    assert ends(QUICK["import"], path) == SessionFileError.exit_code
    assert ends(["compare", "FILE", "FILE"], path) == SessionFileError.exit_code
    assert "a.json" in capsys.readouterr().err
