# SPDX-License-Identifier: Apache-2.0
"""The support of probes in Python, beside test_conformance.py: it runs by any interpreter from its oldest on."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.errors import ProtocolError
from steelyard.measure import catalog, protocol
from steelyard.records import Case

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "probes" / "support" / "python"
PROBE = """
import os, sys
sys.path[0] = {support!r}
from probe import Choice, Integer, Metric, Probe, fail, main, skip
class Tried(Probe):
    question = "What happens?"
    operation = "one"
    source = "this test"
    statistic = "median"
    placements = ("same", "free")
    uses = ("cpu",)
    metrics = (Metric("one", "s", "lower", "wall", "operations", "time of one"),
               Metric("share", "1", "neither", "never", "never", "of what never happens"))
    parameters = (Integer("number", "a number", "1", (3, 4), 1, 9), Choice("word", "a word", ("a", "b"), ("a", "b")))
    def batch(self, operations, value):
        value.start()
        value.stop()
        value.counts["never"] = 0
        value.counts["checked"] = operations
{more}
main(Tried)
"""
INTERPRETERS = sorted(
    {
        found
        for minor in range(8, 16)
        for name in (f"python3.{minor}", f"python3.{minor}t")
        if (found := shutil.which(name))
        and subprocess.run([found, "-V"], capture_output=True, check=False).returncode == 0
    }
    | {sys.executable}
)


@pytest.fixture
def tried(tmp_path):
    """Runs a probe whose class has these lines more; returns how it ended."""

    def run(more, *arguments, interpreter=sys.executable):
        program = tmp_path / "question" / "way.py"
        program.parent.mkdir(exist_ok=True)
        lines = "\n".join(f"    {line}" for line in more.splitlines())
        program.write_text(PROBE.format(support=str(SUPPORT), more=lines))
        return subprocess.run(
            [interpreter, "-B", program, *arguments], capture_output=True, text=True, timeout=60, check=False
        )

    return run


def test_what_a_probe_lacks_is_in_its_description_and_ends_its_runs(tried):
    lacking = "@classmethod\ndef lacks(cls):\n    return 'no such library: install it'"
    described = protocol.parse_descriptor(tried(lacking, "--describe").stdout.encode(), "question/way")
    assert described.lacks == "no such library: install it"
    for arguments in (("--selftest",), ("--operations", "5", "--values", "2")):
        ran = tried(lacking, *arguments)
        assert (ran.returncode, ran.stdout) == (77, "")
        assert ran.stderr.strip() == "question/way: no such library: install it"
    assert protocol.parse_descriptor(tried("", "--describe").stdout.encode(), "question/way").lacks is None


def test_python_2_is_asked_where_it_is_found(tmp_path):
    """Its program is one of Python 3 as well, which stands in its place here."""
    probe, there = ROOT / "probes" / "call" / "python2_loop.py", {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    run = [sys.executable, "-B", probe, "--operations", "1000", "--values", "2"]
    without = subprocess.run(run, env=there, capture_output=True, text=True, timeout=60, check=False)
    assert without.returncode == 77
    assert "put python2.7 in PATH" in without.stderr
    (tmp_path / "python2.7").symlink_to(sys.executable)
    ran = subprocess.run(run, env=there, capture_output=True, text=True, timeout=60, check=True)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line["operations"] for line in lines if line["type"] == "value"] == [1000, 1000]
    assert lines[0]["flags"] == f"Python {sys.version.split()[0]}"


def batch(line):
    return f"def batch(self, operations, value):\n    {line}"


@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_it_speaks_the_protocol_by_every_interpreter_at_hand(tried, interpreter):
    descriptor = protocol.parse_descriptor(
        tried("", "--describe", interpreter=interpreter).stdout.encode(), "question/way"
    )
    assert [parameter.sweep for parameter in descriptor.parameters] == [(3, 4), ("a", "b")]
    ran = tried("", "number=4", "--operations", "5", "--values", "2", interpreter=interpreter)
    case = Case(probe="question/way", parameters={"number": 4, "word": "a"}, placement="same")
    transcript = protocol.parse_transcript(ran.stdout.encode(), case, descriptor)
    assert [value.counts["checked"] for value in transcript.values] == [5, 5]
    assert "Python" in transcript.meta.compiler or "PyPy" in transcript.meta.compiler


def test_a_probe_may_have_a_selftest_of_its_own(tried):
    ended = tried("def selftest(self):\n    fail('the answer is wrong')", "--selftest")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "question/way: the answer is wrong\n"


def test_a_metric_of_what_no_value_reports_is_found_by_whoever_reads_the_lines(tried):
    more = batch("value.start(); value.stop(); value.counts['checked'] = operations")
    descriptor = protocol.parse_descriptor(tried(more, "--describe").stdout.encode(), "question/way")
    case = Case(probe="question/way", parameters={"number": 3, "word": "a"}, placement="same")
    with pytest.raises(ProtocolError, match="metric share needs never, which a value does not report"):
        protocol.parse_transcript(tried(more, "--operations", "1").stdout.encode(), case, descriptor)


def test_a_probe_may_have_the_name_of_a_module(tmp_path):
    program = tmp_path / "question" / "queue.py"
    program.parent.mkdir()
    more = "    def setup(self):\n        import queue\n        queue.Queue()"
    program.write_text(PROBE.format(support=str(SUPPORT), more=more))
    asked = subprocess.run([sys.executable, "-B", program, "--selftest"], capture_output=True, text=True, check=False)
    assert (asked.returncode, asked.stderr) == (0, "")


def without(name, tmp_path):
    """An interpreter's environment in which this module cannot be imported."""
    (tmp_path / f"{name}.py").write_text("raise ImportError('it is not there')")
    return {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("probe", "module", "parameters"),
    [
        ("switch/greenlet", "greenlet", ()),
        ("memory/greenlet", "greenlet", ()),
        ("switch/asyncio_task", "uvloop", ("loop=uvloop",)),
        ("create/asyncio_task", "uvloop", ("loop=uvloop",)),
    ],
)
def test_what_is_not_installed_is_a_skip_that_says_what_to_do(probe, module, parameters, tmp_path):
    program = catalog.native_folder() / "probes" / f"{probe}.py"
    ran = subprocess.run(
        [*catalog.command(program), *parameters, "--operations", "1"],
        env=without(module, tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == protocol.SKIPPED_EXIT_CODE, ran.stderr
    assert f"pip install {module}" in ran.stderr.splitlines()[-1]


COUNTED = """calls = 0
def setup(self):
    plain = self.batch
    def batch(operations, value):
        self.calls += 1
        plain(operations, value)
    self.batch = batch
def versions(self):
    return {"calls": str(self.calls)}
"""


def test_what_is_timed_was_called_so_often_that_it_is_specialised(tried):
    """CPython 3.11 specialises a function at its eighth call, however long one call takes."""
    ran = tried(COUNTED, "--operations", "1", "--values", "1")
    assert ran.returncode == 0, ran.stderr
    flags = json.loads(ran.stdout.splitlines()[0])["flags"]
    assert int(flags.removeprefix("calls ")) >= 8
