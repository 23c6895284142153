# SPDX-License-Identifier: Apache-2.0
"""Where a language is not installed the build goes on, and each of its probes says what to install."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from steelyard.measure import catalog
from tests import processes

ROOT = Path(__file__).parents[2]
#: A probe of each language that a machine may lack, and what is said of it there.
MISSING = {
    "switch/lazy.cpp": r"no C\+\+ compiler was found .*: install g\+\+ 12 or clang\+\+ 14",
    "create/goroutine.go": r"no Go compiler was found .*: install Go 1\.21",
    "create/rust_thread.rs": r"no Rust compiler was found .*: install cargo and rustc",
    "create/java_thread.java": r"no JDK was found .*: install one, or set JAVA_HOME",
    "switch/promise.mjs": r"Node was not found .*: install nodejs",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The build of all parts of the tree that these probes touch, where no program but a C compiler is to be found."""
    folder = tmp_path_factory.mktemp("bare")
    tree, tools, build = folder / "tree", folder / "tools", folder / "build"
    supports = (f"probes/support/{language}" for language in ("c", "cpp", "go", "rust", "java", "node"))
    probes = (f"probes/{name}" for name in (*MISSING, "null/null.c"))
    engines = (str(path.relative_to(ROOT)) for path in ROOT.glob("engines/*/CMakeLists.txt"))
    for part in ("CMakeLists.txt", "src/steelyard/measure/launch.c", *supports, *probes, *engines):
        source, target = ROOT / part, tree / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    tools.mkdir()
    for name in ("cc", "as", "ld", "ar", "ranlib"):
        (tools / name).symlink_to(processes.tool(name))
    # What CMake looks for itself is looked for nowhere; rustup's and the virtual machines' own folders are empty ones.
    # Python's own build names two compilers to whoever builds a wheel, whether they are there or not.
    nowhere = ("USE_SYSTEM_ENVIRONMENT_PATH", "USE_CMAKE_SYSTEM_PATH", "USE_CMAKE_ENVIRONMENT_PATH")
    environment = {"PATH": str(tools), "HOME": str(folder), "JAVA_HOME": str(folder), "CC": "no-cc", "CXX": "no-c++ -x"}
    cmake, ninja = processes.tool("cmake"), processes.tool("ninja")
    commands = (
        [cmake, "-S", tree, "-B", build, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DSTEELYARD_JDKS={folder}"]
        + [f"-DCMAKE_FIND_{name}=OFF" for name in nowhere]
        + [f"-DCMAKE_C_COMPILER={tools / 'cc'}"],
        [cmake, "--build", build],
    )
    for command in commands:
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build


@pytest.fixture(scope="module")
def skips(bare):
    """The reasons by probe, as the build wrote them."""
    return {skip.subject: skip.reason for skip in catalog.load([bare / "skips"]).skips}


@pytest.mark.parametrize("file", MISSING)
def test_a_probe_whose_language_is_missing_says_what_to_install(skips, file):
    assert re.search(MISSING[file], skips[file.partition(".")[0]])


def test_each_language_without_a_compiler_here_is_one_of_these():
    files = (path for path in (ROOT / "probes").glob("*/*.*") if path.parent.name != "support")
    always_there = {".c", ".h", ".hpp", ".py"}
    assert {file.suffix for file in files} - always_there == {Path(file).suffix for file in MISSING}


def test_what_needs_no_more_than_c_is_built(bare):
    assert (bare / "launch").exists()
    subprocess.run([bare / "probes/null/null", "--selftest"], check=True)
    assert not list(bare.glob("engines/*/*"))
