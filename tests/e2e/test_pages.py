# SPDX-License-Identifier: Apache-2.0
"""The README and the documentation are true: their commands are run, their links lead somewhere, their targets exist.

In a page, a `console` block holds commands after `$ `; a code block with a title is a file that the page tells to
write. Both are done from top to bottom in one empty folder a page. A page that speaks of other machines is done where
there are some: a Slurm of three nodes on this host, and an ssh and an object store that stay on it.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import processes
from tests.golden.translations import TRANSLATIONS
from tests.integration.slurm import a_cluster

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCUMENTATION = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [README, *DOCUMENTATION]
BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)

#: A reader waits minutes for a good figure; that a command works is seen in seconds, on one block of a few cases.
BRIEF = "--blocks 1 --target 1ms --values 2"
SHORTER = (
    (re.compile(r" --target \S+"), ""),
    (re.compile(r"--budget \S+|--blocks \d+|--quick"), BRIEF),
    (re.compile(r"^(steelyard run (?!.*--(blocks|resume)).*)"), rf"\1 {BRIEF}"),
    (re.compile(r"'call/\*'( 'switch/pipe' create/fork| create/thread)?"), "'call/[dsv]*'"),
    # What compares the ways of a sweep has blocks enough to decide, unless it has too little time.
    (re.compile(r"(choose server .*)--blocks \d+"), r"\1--budget 4s"),
    # Six cases of a comparison take nine blocks to be decided.
    (re.compile(r"(--vary env:\S+) create/thread"), r"\1 call/direct"),
    (re.compile(r"--for \d+\w+"), "--for 1s"),
    # A machine, a session of it and a job are as good as seven, two and three; two nodes are a cluster.
    (re.compile(r"for n in (\S+) .*?;"), r"for n in \1;"),
    (re.compile(r"(simulate here) --length \d+\w+"), r"\1 --length 1s"),
    (re.compile(r"--sessions \d+"), "--sessions 1"),
    (re.compile(r"n\[1-3\]"), "n[1-2]"),
    (re.compile(r"fleet (run|node) "), r"fleet \1 --even-if-busy "),
    (re.compile(r"fleet (run|resume) "), r"fleet \1 --poll 200ms "),
    # sbatch itself waits by looking again after 2, 8 and 32 seconds.
    (
        re.compile(r"sbatch --wait (.*)"),
        r"job=$(sbatch --parsable --array=1 \1) && while squeue --noheader --jobs=$job | grep .; do sleep 0.2; done && "
        r"scontrol show job $job | grep JobState=COMPLETED",
    ),
    (re.compile(r"-m venv "), "-m venv --without-pip "),
    # One server is as good as fourteen.
    (re.compile(r"steelyard wsgi (?!.*--server)\S+"), r"\g<0> --server waitress"),
    (re.compile(r"(--server \S+ ){3,}"), "--server waitress "),
    # Six models of concurrency are as good as seventeen.
    (re.compile(r"--example > (\S+)"), r"--example | sed 's/^# languages = .*/languages = [\"c\"]/' > \1"),
    # What a page has installed comes from where the tests run: none of them asks a network.
    (
        re.compile(r"^(\S+)/bin/pip install .*"),
        f"echo \"import site; site.addsitedir('{sysconfig.get_paths()['purelib']}')\" "
        r"> $(echo \1/lib/python*/site-packages)/of_the_tests.pth",
    ),
)
#: What only a page that needs other machines says.
ELSEWHERE = re.compile(r"\b(ssh|sbatch|slurm)\b")
#: ssh without a network: the command by a shell, in the home folder of that machine.
SSH = """#!/bin/sh
mkdir -p "$HOME/home/$1" && cd "$HOME/home/$1" && shift && exec sh -c "$*"
"""


def steps(page: Path) -> Iterator[tuple[str, str]]:
    """What a page tells to do, in order: ("run", command) or (file name, contents)."""
    for block in BLOCK.finditer(page.read_text()):
        if block["title"]:
            yield block["title"], block["text"]
        elif block["language"] == "console":
            for line in block["text"].splitlines():
                if line.startswith("$ "):
                    yield "run", re.split(r"\s+# ", line.removeprefix("$ "))[0].strip()


def shortened(command: str) -> str:
    for long, short in SHORTER:
        command = long.sub(short, command)
    return command


def needs_other_machines(page: Path) -> bool:
    return any(what == "run" and ELSEWHERE.search(text) for what, text in steps(page))


def work_through(page: Path, folder: Path, environment: dict[str, str]) -> None:
    """Do what a page says, from top to bottom."""
    environment = {**environment, "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"}
    for what, text in steps(page):
        if what != "run":
            path = folder / what
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            continue
        if text.startswith("make "):
            subprocess.run(["make", "-n", text.split()[1]], cwd=ROOT, capture_output=True, check=True)
            continue
        done = subprocess.run(
            ["bash", "-c", shortened(text)],
            check=False,
            cwd=folder,
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=processes.PATIENCE_S,
        )
        assert done.returncode == 0, (text, done.stdout, done.stderr)
        assert done.stdout.strip() or re.search(r" -o | > ", text) or not text.startswith("steelyard"), text


#: The commands of a translation are those of its original: tests/golden/test_translations.py.
WITH_STEPS = [page for page in PAGES if page not in TRANSLATIONS and any(steps(page))]
HERE = [page for page in WITH_STEPS if not needs_other_machines(page)]
ON_MACHINES = [page for page in WITH_STEPS if needs_other_machines(page)]


def test_the_pages_have_commands():
    assert README in WITH_STEPS
    assert {page.parent.name for page in WITH_STEPS} >= {"tutorial", "how-to"}


@pytest.mark.parametrize("page", HERE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_works_in_the_order_of_the_page(page, laboratory):
    work_through(page, laboratory.folder, laboratory.environment())


@pytest.mark.parametrize("page", ON_MACHINES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_works_on_the_machines_that_the_page_speaks_of(page, laboratory):
    own = laboratory.folder / "bin"
    own.mkdir()
    (own / "ssh").write_text(SSH)
    (own / "ssh").chmod(0o755)
    for file in (page.parent / "files").glob("fleet.*"):
        shutil.copy(file, laboratory.folder)
    with a_cluster(laboratory) as cluster:
        environment = {
            **cluster.environment(),
            "HOME": str(laboratory.folder),
            "STORE": f"file://{laboratory.folder}/store",
            "STEELYARD_NODE_OPTIONS": "--even-if-busy",
        }
        environment["PATH"] = f"{own}:{environment['PATH']}"
        work_through(page, laboratory.folder, environment)


def test_no_two_pages_have_one_title():
    """The navigation of the site names a page by its title alone."""
    titles = [re.search(r"^# (.+)$", page.read_text(), re.MULTILINE) for page in DOCUMENTATION]
    named = [title[1] for title in titles if title]
    assert sorted(set(named)) == sorted(named)


def test_the_readme_has_the_two_targets_that_do_everything():
    targets = [text.split()[1] for what, text in steps(README) if what == "run" and text.startswith("make ")]
    assert {"run", "test"} <= set(targets)


@pytest.mark.parametrize(
    "page",
    sorted({*PAGES, *TRANSLATIONS, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"}),
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_its_links_lead_somewhere(page):
    generated = {"commands.md", "probes.md", "claims.md", "published.md", "formats.md"}
    generated |= {"session-file.md", "published-session.md"}
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        made = Path(link).name in generated and Path(link).parent.name in ("reference", "")
        assert "//" in link or made or (page.parent / link).exists(), link


def test_every_path_that_the_architecture_names_exists():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for path in re.findall(r"`((?:measure|keep|judge|show|cli|docs|probes|benchmarks)/[a-z_/.0-9-]+)`", text):
        assert (ROOT / path).exists() or (ROOT / "src/steelyard" / path).exists(), path
