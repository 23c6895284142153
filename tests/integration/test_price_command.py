# SPDX-License-Identifier: Apache-2.0
"""`steelyard price` as a user types it: what a process does is counted, and what cannot be is said."""

import json
import os
import subprocess
import sys

import pytest

from steelyard.__main__ import main
from steelyard.errors import UsageError
from tests.integration.laboratory import words
from tests.many import lines_of, write
from tests.unit.judge.test_price import prices

#: Waits 40 times, makes a process and a thread that live long enough to be seen, and ends with 3.
DOES = """
import os, threading, time
for _ in range(40): time.sleep(0.001)
thread = threading.Thread(target=time.sleep, args=(1,))
thread.start()
if os.fork() == 0:
    time.sleep(1)
    os._exit(0)
os.wait()
thread.join()
raise SystemExit(3)
"""


@pytest.fixture
def kept(tmp_path):
    return write(tmp_path / "prices.session.jsonl", lines_of(prices()))


def test_what_a_command_does_is_counted_until_it_ends(laboratory, kept):
    done = laboratory.do("price", "--session", kept, "--json", "--", sys.executable, "-c", DOES)
    assert done.returncode == 3, done.stderr
    priced = json.loads(done.stdout)
    counts = priced["effort"]["counts"]
    assert counts["voluntary"] >= 40
    assert (counts["processes"], counts["threads"]) == (1, 1)
    assert counts["minor_faults"] > 100
    assert priced["effort"]["status"] == 3
    assert priced["parts"][0]["share"] > 0
    if "lock_waits" in counts:
        assert counts["lock_waits"] >= 1
    if "system_calls" not in counts:
        assert "system calls" in {skip["subject"] for skip in priced["skips"]}


def test_a_process_that_goes_on_is_counted_for_a_while(laboratory, kept):
    code = "import time\nwhile True: time.sleep(0.001)"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            done = laboratory.do("price", "--session", kept, "--for", "300ms", "--json", process.pid)
        finally:
            process.kill()
    assert done.returncode == 0, done.stderr
    effort = json.loads(done.stdout)["effort"]
    assert effort["pid"] == process.pid
    assert effort["counts"]["voluntary"] > 0
    assert effort["status"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "say which process"),
        (["--", "no-such-program"], "no-such-program cannot be started: there is no such program"),
        ([str(2**22 + 1)], "there is no process 4194305 that can be read"),
        (["--for", "0s", str(os.getpid())], "is no time at all"),
    ],
)
def test_what_cannot_be_counted_is_one_sentence(arguments, sentence, kept, capsys):
    assert main(["price", "--session", str(kept), *arguments]) == UsageError.exit_code
    assert sentence in words(capsys.readouterr().err)
