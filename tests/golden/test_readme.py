# SPDX-License-Identifier: Apache-2.0
"""The README shows a real session as the program prints it today: its file lies here, packed."""

import gzip
import re
from pathlib import Path

import pytest

from steelyard.__main__ import main

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
#: How many statements beside those on the screen got which verdict: each one more in the library changes it.
COUNTS = re.compile(r"\d+(?= more hold| more fail| need longer| were not asked)")


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """What `steelyard show` prints of the session of the README, 100 columns wide."""
    session = tmp_path / "first.session.jsonl"
    session.write_bytes(gzip.decompress((HERE / "first.session.jsonl.gz").read_bytes()))
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["show", str(session)]) == 0
    return capsys.readouterr().out


def test_the_screen_of_the_readme_is_what_the_program_prints(printed):
    screen = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    wanted, there = (COUNTS.sub("N", text) for text in (f"```\n{screen}\n```", README.read_text()))
    assert wanted in there, f"put this into README.md, if it is right:\n{screen}"


def test_what_the_readme_concludes_from_the_screen_stands_on_it(printed):
    def nanoseconds(line: str) -> list[float]:
        units = {"ns": 1, "µs": 1e3, "ms": 1e6}
        return [float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (ns|µs|ms)", line)]

    created = printed[printed.index("CREATE, AND END") :].splitlines()
    ((goroutine, *_), (thread, *_)) = (
        nanoseconds(next(line for line in created if line.startswith(name))) for name in ("goroutine ", "thread ")
    )
    one_cpu, two_cpus = nanoseconds(next(line for line in printed.splitlines() if line.startswith("pipe ")))
    said = re.search(r"a thread costs (\S+) times a goroutine here.* a pipe (\S+) times", README.read_text())
    assert said is not None
    # The printed figures have three digits.
    assert float(said[1]) == pytest.approx(thread / goroutine, rel=0.015)
    assert float(said[2]) == pytest.approx(two_cpus / one_cpu, rel=0.015)


def test_the_screen_of_a_whole_first_session_is_one_screen(printed):
    lines = printed.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100


def test_nine_in_ten_of_the_statements_that_a_first_session_asks_are_decided(printed):
    *_, counts = (line for line in printed.splitlines() if "need longer" in line)
    undecided = int(counts.split(" need longer")[0].split()[-1])
    shown = printed.count("✗ ") + printed.count("✓ ")
    decided = shown + sum(int(part.split()[0]) for part in counts.split(", ")[:2])
    assert undecided <= (decided + undecided) / 10
