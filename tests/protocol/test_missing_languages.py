# SPDX-License-Identifier: Apache-2.0
"""Where a language is not installed the build goes on, and each of its probes says what to install."""

import os
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
    "create/goroutine.go": r"no Go compiler was found .*: install Go 1\.21",
    "create/rust_thread.rs": r"no Rust compiler was found .*: install cargo and rustc",
    "create/java_thread.java": r"no JDK was found .*: install one, or set JAVA_HOME",
    "switch/promise.mjs": r"Node was not found .*: install nodejs",
}


@pytest.fixture(scope="module")
def skips(tmp_path_factory):
    """The reasons by probe, as the build wrote them where no program but C's compiler was to be found."""
    folder = tmp_path_factory.mktemp("bare")
    tree = folder / "tree"
    supports = (f"probes/support/{language}" for language in ("go", "rust", "java", "node"))
    probes = (f"probes/{name}" for name in MISSING)
    for part in ("CMakeLists.txt", "src/steelyard/measure/launch.c", *supports, *probes):
        source, target = ROOT / part, tree / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    tools = {"C_COMPILER": shutil.which("cc"), "CXX_COMPILER": shutil.which("c++")}
    # Whatever is looked for is looked for nowhere; rustup's and the virtual machines' own folders are empty ones.
    nowhere = ("USE_SYSTEM_ENVIRONMENT_PATH", "USE_CMAKE_SYSTEM_PATH", "USE_CMAKE_ENVIRONMENT_PATH")
    command = [
        *(processes.tool("cmake"), "-S", tree, "-B", folder / "build", "-G", "Ninja"),
        *(f"-DCMAKE_MAKE_PROGRAM={processes.tool('ninja')}", f"-DSTEELYARD_JDKS={folder}"),
        *(f"-DCMAKE_{name}={path}" for name, path in tools.items()),
        *(f"-DCMAKE_FIND_{name}=OFF" for name in nowhere),
    ]
    environment = {**os.environ, "HOME": str(folder), "JAVA_HOME": str(folder)}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {skip.subject: skip.reason for skip in catalog.load([folder / "build" / "skips"]).skips}


@pytest.mark.parametrize("file", MISSING)
def test_a_probe_whose_language_is_missing_says_what_to_install(skips, file):
    assert re.search(MISSING[file], skips[file.partition(".")[0]])


def test_each_language_without_a_compiler_here_is_one_of_these():
    files = (path for path in (ROOT / "probes").glob("*/*.*") if path.parent.name != "support")
    always_there = {".c", ".h", ".cpp", ".hpp", ".py"}
    assert {file.suffix for file in files} - always_there == {Path(file).suffix for file in MISSING}
