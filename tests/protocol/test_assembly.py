# SPDX-License-Identifier: Apache-2.0
"""The compiler is an opponent: the timed operation still stands in the machine code of every probe in C and C++.

Each source says in its head comment what must be found where, `Assembly: <function> contains <regex>`, and perhaps what
must not, `Assembly: <function> lacks <regex>`.
"""

import re
import subprocess
from pathlib import Path

import pytest

from steelyard.measure import catalog
from tests import processes

ROOT = Path(__file__).parents[2]
SOURCES = {
    f"{path.parent.name}/{path.stem}": path
    for pattern in ("*/*.c", "*/*.cpp")
    for path in sorted((ROOT / "probes").glob(pattern))
    if path.parent.name != "support"
}
EXPECTATION = re.compile(
    r"^ \* Assembly: (?P<function>\w+) (?P<verb>contains|lacks) (?P<pattern>\S.*?)\s*(?:\*/)?$", re.MULTILINE
)


def expectations(source: Path) -> list[tuple[str, str, str]]:
    """What the head comment of a source says."""
    head, _, _ = source.read_text().partition("*/")
    return [(match["function"], match["verb"], match["pattern"]) for match in EXPECTATION.finditer(head)]


def disassembled(program: Path, function: str) -> str:
    """The machine code of one function, and of its parts that the compiler put elsewhere; empty if there is none."""
    listing = subprocess.run(
        [processes.tool("objdump"), "--disassemble", "--no-show-raw-insn", program],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    blocks = re.split(r"\n(?=[0-9a-f]+ <)", listing)
    own = re.compile(rf"[0-9a-f]+ <{re.escape(function)}(?:\.(?:constprop|part|isra|cold|lto_priv)[.\d]*)*>:")
    return "\n".join(block for block in blocks if own.match(block))


def test_there_are_sources():
    assert SOURCES


@pytest.mark.parametrize("name", SOURCES)
def test_the_timed_operation_is_in_the_machine_code(name):
    wanted = expectations(SOURCES[name])
    assert any(verb == "contains" for _, verb, _ in wanted), (
        f"{SOURCES[name].name} lacks the line `Assembly: <function> contains <regex>` in its head comment"
    )
    programs = catalog.find_programs(catalog.probe_folders())
    assert name in programs, "the probe is not built: make build"
    if programs[name].suffix == ".skip":
        processes.missing(programs[name].read_text().strip())
    for function, verb, pattern in wanted:
        code = disassembled(programs[name], function)
        assert code, f"there is no function {function} in {name}: it was inlined or is called something else"
        instructions = "\n".join(code.splitlines()[1:])
        found = re.search(pattern, instructions)
        assert (found is not None) == (verb == "contains"), f"{function} of {name}: it {verb} {pattern}? No:\n{code}"


def test_a_function_is_searched_alone(tmp_path):
    source = tmp_path / "two.c"
    source.write_text(
        "__attribute__((noinline)) long multiplies(long a, long b) { return a * b; }\n"
        "__attribute__((noinline)) long adds(long a, long b) { return a + b; }\n"
        "int main(int n, char **v) { (void)v; return (int)(multiplies(n, 3) + adds(n, 4)); }\n"
    )
    program = processes.compiled(source, tmp_path / "two")
    assert "mul" in disassembled(program, "multiplies")
    assert "mul" not in disassembled(program, "adds")
    assert disassembled(program, "divides") == ""
