# SPDX-License-Identifier: Apache-2.0
"""A timed part with variants: all that a source asks for are built, a missing compiler is a skip with its reason, and
what is kept of a loop is what the machine code says."""

import importlib.util
import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from steelyard.measure import catalog, protocol
from tests import processes

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "probes/support/c"
LINE = re.compile(r"^ \* Variants: (.*)$", re.MULTILINE)
SOURCES = [path for path in sorted((ROOT / "probes").glob("*/*.c")) if LINE.search(path.read_text())]


def asked_for(source):
    """Each variant that the head comment of a source names: by parameter, its value."""
    match = LINE.search(source.read_text())
    axes = [part.partition("=") for part in match[1].split()]
    names = [name for name, _, _ in axes]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(v.split(",") for _, _, v in axes))]


def test_there_are_sources():
    assert SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_variant_that_a_source_asks_for_runs_what_it_says(source, tmp_path):
    program = catalog.find_programs(catalog.probe_folders())[f"{source.parent.name}/{source.stem}"]
    lacking = set()
    for variant in asked_for(source):
        command = [program, *(f"{name}={value}" for name, value in variant.items()), "--operations", "1", "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        if done.returncode == protocol.SKIPPED_EXIT_CODE:
            lacking.add(done.stderr.strip())
            continue
        assert done.returncode == 0, done.stderr
        meta = json.loads(done.stdout.splitlines()[0])
        assert meta["timed"].endswith(
            f"__{variant['compiler']}_O{variant['level']}{'_profile' if variant.get('profile') == 'on' else ''}"
        )
        assert meta["compiler"].startswith(f"{variant['compiler']} ")
        assert f"-O{variant['level']} " in meta["flags"]
        assert ("profile" in meta["flags"]) == (variant.get("profile") == "on")
        assert meta["timed"] in catalog.loops(program)
    if lacking:
        processes.missing("; ".join(sorted(lacking)))


@pytest.fixture(scope="module")
def poor(tmp_path_factory):
    """A probe with variants, built where there is one C compiler, called gcc, and nothing else to be found."""
    folder = tmp_path_factory.mktemp("poor")
    tree = folder / "tree"
    shutil.copytree(SUPPORT, tree / "probes/support/c")
    for part in ("CMakeLists.txt", "src/steelyard/measure/launch.c", "probes/code/strlen_loop.c"):
        (tree / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / part, tree / part)
    nowhere = ("USE_SYSTEM_ENVIRONMENT_PATH", "USE_CMAKE_SYSTEM_PATH", "USE_CMAKE_ENVIRONMENT_PATH")
    build = folder / "build"
    cmake = processes.tool("cmake")
    commands = (
        [cmake, "-S", tree, "-B", build, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={processes.tool('ninja')}"]
        + [f"-DCMAKE_C_COMPILER={processes.tool('gcc')}"]
        + [f"-DCMAKE_FIND_{name}=OFF" for name in nowhere],
        [cmake, "--build", build, "--target", "probe_code_strlen_loop"],
    )
    for command in commands:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build / "probes/code/strlen_loop"


def test_a_compiler_that_is_missing_is_a_skip_that_says_what_to_install(poor):
    done = subprocess.run([poor, "compiler=clang", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == protocol.SKIPPED_EXIT_CODE
    assert "clang was not found when the probes were built: install it" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_without_it_the_other_compiler_is_there_and_no_loops_are_kept(poor):
    done = subprocess.run([poor, "level=3", "--operations", "1", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[0])["timed"] == "hoisted__gcc_O3"
    subprocess.run([poor, "--selftest"], check=True)
    assert catalog.loops(poor) == {}


NESTED = """
__attribute__((noinline)) void nested__gcc_O1(volatile int *a, int n)
{
    for (int i = 0; i < n; i++) {
        a[0] = 1;
        for (int j = 0; j < n; j++)
            a[j] = 1234;
        for (int j = 0; j < n; j++)
            a[j] = 5678;
    }
}
__attribute__((noinline)) int straight__gcc_O1(int n) { return 3 * n; }
__attribute__((noinline)) void ended__gcc_O1(volatile int *a) { while (*a) if (*a == 77) return; }
int main(int n, char **v)
{
    volatile int a[9] = {0};
    (void)v, nested__gcc_O1(a, n), ended__gcc_O1(a);
    return straight__gcc_O1(n);
}
"""


def test_the_innermost_loops_are_kept(tmp_path):
    source, output = tmp_path / "loops.c", tmp_path / "loops.json"
    source.write_text(NESTED)
    program = processes.compiled(source, tmp_path / "loops")
    spec = importlib.util.spec_from_file_location("loops", SUPPORT / "loops.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.main(processes.tool("objdump"), program, output)
    found = json.loads(output.read_text())
    assert set(found) == {"nested__gcc_O1", "straight__gcc_O1", "ended__gcc_O1"}
    assert found["straight__gcc_O1"] == []
    assert len(found["ended__gcc_O1"]) == 1
    first, second = ("\n".join(loop) for loop in found["nested__gcc_O1"])
    assert "4d2" in first, "1234 is stored in the first loop"
    assert "162e" in second, "5678 in the second"
    assert "162e" not in first


def test_loops_that_are_not_as_the_build_wrote_them_are_named(tmp_path):
    (tmp_path / "way.loops.json").write_text('{"f": 3}')
    with pytest.raises(Exception, match=re.escape("way.loops.json is not as the build wrote it")):
        catalog.loops(tmp_path / "way")
