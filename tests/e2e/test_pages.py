# SPDX-License-Identifier: Apache-2.0
"""The README is true: its commands are run, its links lead somewhere, its targets exist."""

import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONSOLE = [
    line.removeprefix("$ ").split("#")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ ")
]


def test_every_command_works_in_the_order_of_the_page(laboratory):
    commands = [shlex.split(line)[1:] for line in CONSOLE if line.startswith("steelyard ")]
    assert len(commands) >= 6
    for command in commands:
        done = laboratory.do(*command)
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout.strip(), command


def test_its_make_targets_exist():
    targets = [line.split()[1] for line in CONSOLE if line.startswith("make ")]
    assert {"run", "test"} <= set(targets)
    for target in targets:
        subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, check=True)


def test_its_links_lead_somewhere():
    for page in (ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert "//" in link or (page.parent / link).exists(), (page.name, link)


def test_every_path_that_the_architecture_names_exists():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for path in re.findall(r"`((?:measure|keep|judge|show|cli|docs|probes|benchmarks)/[a-z_/.0-9-]+)`", text):
        assert (ROOT / path).exists() or (ROOT / "src/steelyard" / path).exists(), path
