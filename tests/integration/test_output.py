# SPDX-License-Identifier: Apache-2.0
"""What commands write: never over a session, whole or not at all, and a sentence where it can't be written."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.__main__ import main
from steelyard.errors import OutOfMemoryError, OutputError, ReaderGoneError, SteelyardError
from steelyard.keep.session import read
from steelyard.lab import output
from tests import processes

SESSION = Path(__file__).parents[1] / "golden" / "whole.session.jsonl"
#: Every way by which a command writes a file, with SESSION for a session and FILE for where it goes.
WRITING = {
    "export": "export SESSION --format csv -o FILE",
    "export to parquet": "export SESSION --format parquet -o FILE",
    "report": "report SESSION -o FILE",
    "check by JUnit": "check SESSION SESSION --junit FILE",
    "check by Markdown": "check SESSION SESSION --markdown FILE",
    "query to CSV": "query FROM·cases SESSION --format csv -o FILE",
    "query to Parquet": "query FROM·cases SESSION --format parquet -o FILE",
    "advice": "claims SESSION --advice --markdown FILE",
    "proof": "prove --fleets 1 --markdown FILE",
    "plan of a fleet": "fleet plan call/syscall -o FILE",
}


def arguments(text, **places):
    return [str(places.get(word, word)).replace("·", " ") for word in text.split()]


@pytest.fixture
def precious(tmp_path):
    """A session that is there once."""
    return Path(shutil.copy(SESSION, tmp_path / "precious"))


@pytest.mark.parametrize("text", WRITING.values(), ids=WRITING)
def test_no_command_replaces_a_session(text, precious, capsys):
    before = precious.read_bytes()
    code = main(arguments(text, SESSION=SESSION, FILE=precious))
    assert code == OutputError.exit_code
    said = " ".join(capsys.readouterr().err.split())
    assert f"{precious} " in said
    assert "another place" in said
    assert precious.read_bytes() == before
    assert list(precious.parent.iterdir()) == [precious]


def test_a_session_is_not_replaced_by_what_is_made_of_it(precious):
    before = precious.read_bytes()
    assert main(["export", str(precious), "--format", "csv", "-o", str(precious)]) == OutputError.exit_code
    assert precious.read_bytes() == before


def test_a_session_behind_a_link_is_not_replaced(precious):
    link = precious.with_name("link")
    link.symlink_to(precious)
    with pytest.raises(OutputError, match="is a session"):
        output.write(link, "text")
    assert read(precious).runs


def test_what_fails_half_way_leaves_what_was_there(tmp_path):
    path = tmp_path / "a"
    path.write_text("before")
    with pytest.raises(ZeroDivisionError), output.beside(path) as part:
        print("half", 1 // 0, file=part.open("w"))
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_replaced_keeps_its_permissions_and_a_device_stays_one(tmp_path):
    path = tmp_path / "a"
    path.write_text("before")
    path.chmod(0o640)
    output.write(path, "after")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("after", 0o640)
    output.write(Path("/dev/null"), "nothing")
    assert Path("/dev/null").is_char_device()


def program(*words, before="", after="", **environment):
    """The program as a shell starts it, with redirections."""
    command = f'{before} exec "$0" -m steelyard "$@" {after}'
    return subprocess.run(
        ["bash", "-c", command, sys.executable, *map(str, words)],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=processes.PATIENCE_S,
        check=False,
    )


PRINTING = [
    "show SESSION",
    "show SESSION --json",
    "claims SESSION --all",
    "export SESSION --format csv",
    "list null",
    "--help",
]


@pytest.mark.parametrize("text", PRINTING)
@pytest.mark.parametrize("after", ["> /dev/full", ">&-"])
def test_output_that_cannot_be_written_is_one_sentence(text, after):
    done = program(*arguments(text, SESSION=SESSION), after=after)
    assert done.returncode == OutputError.exit_code
    assert done.stderr.decode().startswith("steelyard: standard output cannot be written: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("after", ["2>&-", "2> /dev/full"])
def test_words_that_have_no_place_stop_nothing(after):
    done = program("show", SESSION, after=after)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == program("show", SESSION).stdout


def test_a_reader_that_has_seen_enough_is_no_error():
    done = program("show", SESSION, before="exec > >(exec head -c 1);", after="")
    assert done.stderr == b""
    assert done.returncode in (0, ReaderGoneError.exit_code)
    closed = program("show", SESSION, "--json", before="exec > >(exec true); sleep 1;")
    assert (closed.returncode, closed.stderr) == (ReaderGoneError.exit_code, b"")


@pytest.mark.parametrize("text", [*PRINTING, "show /nonexistent/µ", "history x SESSION"])
def test_a_terminal_without_utf_8_gets_what_it_can_show(text):
    done = program(*arguments(text, SESSION=SESSION), PYTHONIOENCODING="ascii")
    assert b"Traceback" not in done.stderr
    assert done.returncode == main(arguments(text, SESSION=SESSION))
    if "--json" not in text and "export" not in text:
        assert done.stdout.isascii()


def test_data_is_utf_8_on_every_terminal():
    words = ("show", SESSION, "--json")
    assert program(*words, PYTHONIOENCODING="ascii").stdout == program(*words).stdout


def test_no_session_is_written_into_the_number_of_a_closed_stream(tmp_path):
    """The first file that a program opens gets the lowest free number, which its output would go to as well."""
    path = tmp_path / "a"
    done = program("export", SESSION, "--format", "csv", "-o", path, after="<&- >&- 2>&-")
    assert done.returncode == 0
    assert path.read_text().startswith("session,")


# --- what nobody foresaw ----------------------------------------------------------------------------------------------

DEFECT = """
import sys
from steelyard.cli import show
from steelyard.__main__ import main
def failing(*_):
    raise {error}
show.judge = failing
sys.argv = ["steelyard", "show", {session!r}]
sys.exit(main())
"""


def failing(error, **environment):
    return subprocess.run(
        [sys.executable, "-c", DEFECT.format(error=error, session=str(SESSION))],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=processes.PATIENCE_S,
        check=False,
    )


def test_a_defect_is_one_line_and_a_file_with_the_details(tmp_path):
    done = failing("KeyError('unheard of')", XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == SteelyardError.exit_code
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    [path] = (tmp_path / "steelyard" / "errors").iterdir()
    assert "KeyError: 'unheard of'" in line
    assert str(path) in line
    assert "Traceback" in path.read_text()


def test_a_defect_is_said_where_nothing_can_be_kept():
    done = failing("KeyError('unheard of')", XDG_STATE_HOME="/proc/nowhere")
    assert done.returncode == SteelyardError.exit_code
    assert "could not be kept" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("error", ["MemoryError", "ImportError('a command') from MemoryError()"])
def test_too_little_memory_is_said(error):
    done = failing(error)
    assert done.returncode == OutOfMemoryError.exit_code
    assert "ulimit -v" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_report_in_few_addresses_is_refused_before_it_ends_by_a_signal(tmp_path):
    done = program("report", SESSION, "-o", tmp_path / "a.html", before="ulimit -v 8000000;")
    assert done.returncode == OutOfMemoryError.exit_code
    assert b"ulimit -v" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        ("query", "SELECT 1", SESSION),
        ("fleet", "pack", SESSION, "-o", "store"),
        ("fleet", "query", "SELECT 1", "store"),
        ("export", SESSION, "--format", "parquet", "-o", "a.parquet"),
    ],
    ids=lambda command: " ".join(command[:2]) if command[0] == "fleet" else command[0],
)
def test_sql_in_few_addresses_is_refused_before_it_hangs(command, tmp_path):
    here = [tmp_path / word if word in ("store", "a.parquet") else word for word in command]
    done = program(*here, before="ulimit -v 3000000;")
    assert done.returncode == OutOfMemoryError.exit_code, done.stderr
    assert b"of addresses" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_measurement_in_order_unless_it_was_to_be_ignored(number):
    text = (
        "import os, sys\n"
        "from steelyard.errors import Interrupted\n"
        "from steelyard.lab.signals import ended_in_order\n"
        "try:\n"
        "    with ended_in_order():\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "except Interrupted as stopped:\n"
        "    sys.exit(stopped.exit_code)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, check=False)
    assert done.returncode == 128 + number
    ignoring = f'trap \'\' {number - 0}; exec "$0" -c "$1"'
    done = subprocess.run(["bash", "-c", ignoring, sys.executable, text], capture_output=True, check=False)
    assert done.returncode == 0
