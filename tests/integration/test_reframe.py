# SPDX-License-Identifier: Apache-2.0
"""The example of a ReFrame test names what there is, and works where ReFrame is installed."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.integration.laboratory import QUICK

EXAMPLE = Path(__file__).parents[2] / "docs" / "how-to" / "files" / "fleet_reframe.py"


@pytest.mark.parametrize(("said", "command"), [("fleet node '", ("fleet", "node")), ("steelyard show ", ("show",))])
def test_the_options_that_it_names_exist(laboratory, said, command):
    compile(EXAMPLE.read_text(), EXAMPLE, "exec")
    [line] = [line for line in EXAMPLE.read_text().splitlines() if said in line]
    options = set(re.findall(r"--[a-z-]+", line))
    assert options
    assert options <= set(re.findall(r"--[a-z-]+", laboratory.do(*command, "--help").stdout))


def test_a_session_comes_by_reframe_with_its_medians_and_is_not_measured_twice(laboratory):
    program = processes.tool("reframe")
    assert laboratory.do("fleet", "plan", "call/direct", "call/syscall", *QUICK).returncode == 0
    environment = laboratory.environment()
    environment |= {"HOME": str(laboratory.folder), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [
        *(program, "-c", EXAMPLE, "--prefix", laboratory.folder / "reframe", "-r", "--report-file=report.json"),
        *("-S", f"plan={laboratory.folder}/plan.json", "-S", f"fleet={laboratory.folder}/fleet"),
        *("-S", "options=--even-if-busy"),
    ]
    session = laboratory.folder / "fleet" / "sessions" / f"{socket.gethostname().partition('.')[0]}.1.session.jsonl"
    before = None
    for _ in range(2):
        done = subprocess.run(
            command,
            env=environment,
            cwd=laboratory.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=processes.PATIENCE_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        report = (laboratory.folder / "report.json").read_text()
        assert {"call/direct@same", "call/syscall@same"} <= set(re.findall(r"call/\w+@same", report))
        assert json.loads(report)
        assert before is None or session.stat().st_ino == before
        before = session.stat().st_ino
