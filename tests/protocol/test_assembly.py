# SPDX-License-Identifier: Apache-2.0
"""The compiler is an opponent: the timed operation still stands in the machine code of every probe in C and C++.

Each source says in its head comment what must be found where, `Assembly: <function> contains <regex>`, and perhaps what
must not, `Assembly: <function> lacks <regex>`. Of a timed part with variants a function is called
`<name>__<compiler>_O<level>`, in which `*` and `[23]` stand for several; `Loop:` asks for the same of its innermost
loops alone.
"""

import fnmatch
import functools
import re
import subprocess
from pathlib import Path

import pytest

from steelyard.measure import catalog
from steelyard.records import Loops
from tests import processes

ROOT = Path(__file__).parents[2]
SOURCES = {
    f"{path.parent.name}/{path.stem}": path
    for pattern in ("*/*.c", "*/*.cpp")
    for path in sorted((ROOT / "probes").glob(pattern))
    if path.parent.name != "support"
}
EXPECTATION = re.compile(
    r"^ \* (?P<where>Assembly|Loop): (?P<function>\S+) (?P<verb>contains|lacks) (?P<pattern>\S.*?)\s*(?:\*/)?$",
    re.MULTILINE,
)


def expectations(source: Path) -> list[re.Match[str]]:
    """What the head comment of a source says."""
    head, _, _ = source.read_text().partition("*/")
    return list(EXPECTATION.finditer(head))


@functools.cache
def blocks(program: Path) -> list[str]:
    """The machine code of a program, function by function."""
    listing = subprocess.run(
        [processes.tool("objdump"), "--disassemble", "--no-show-raw-insn", program],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return re.split(r"\n(?=[0-9a-f]+ <)", listing)


def disassembled(program: Path, function: str) -> str:
    """The machine code of one function, and of its parts that the compiler put elsewhere; empty if there is none."""
    own = re.compile(rf"[0-9a-f]+ <{re.escape(function)}(?:\.(?:constprop|part|isra|cold|lto_priv)[.\d]*)*>:")
    return "\n".join(block for block in blocks(program) if own.match(block))


def test_there_are_sources():
    assert SOURCES


@pytest.mark.parametrize("name", SOURCES)
def test_the_timed_operation_is_in_the_machine_code(name):
    wanted = expectations(SOURCES[name])
    assert any(one["verb"] == "contains" for one in wanted), (
        f"{SOURCES[name].name} lacks the line `Assembly: <function> contains <regex>` in its head comment"
    )
    programs = catalog.find_programs(catalog.probe_folders())
    assert name in programs, "the probe is not built: make build"
    if programs[name].suffix == ".skip":
        processes.missing(programs[name].read_text().strip())
    program, kept = programs[name], catalog.loops(programs[name])
    for one in wanted:
        functions = fnmatch.filter(kept, one["function"]) if "__" in one["function"] else [one["function"]]
        assert functions, f"no function of {name} is called {one['function']}"
        for function in functions:
            code = machine_code(program, function) if one["where"] == "Assembly" else loops_of(kept[function])
            found = re.search(one["pattern"], code)
            assert (found is not None) == (one["verb"] == "contains"), f"{one[0]}? No, {function} is\n{code}"


def machine_code(program: Path, function: str) -> str:
    code = disassembled(program, function)
    assert code, f"there is no function {function} in {program.name}: it was inlined or is called something else"
    return "\n".join(code.splitlines()[1:])


def loops_of(kept: Loops) -> str:
    return "\n\n".join("\n".join(loop) for loop in kept)


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
