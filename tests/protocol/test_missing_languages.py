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
#: The languages whose build may lack something; the others need no more than C and the interpreter of the lab.
LANGUAGES = {
    file.parent.name for file in ROOT.glob("probes/support/*/language.cmake") if "steelyard_skip(" in file.read_text()
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The build of the probe that each support is tested by, where no program but a C compiler is to be found."""
    folder = tmp_path_factory.mktemp("bare")
    tree, tools, build = folder / "tree", folder / "tools", folder / "build"
    engines = (str(path.relative_to(ROOT)) for path in ROOT.glob("engines/*/CMakeLists.txt"))
    for part in ("CMakeLists.txt", "src/steelyard/measure/launch.c", "probes/support", "probes/null/null.c", *engines):
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


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_probe_whose_language_is_missing_says_what_to_install(skips, language):
    said = skips[f"{language}/conformance"]
    assert re.search(r"(^no .+ was found|^.+ was not found) when (the probes were|Steelyard was) built: install ", said)
    assert said.endswith(" build again")


def test_what_needs_no_more_than_c_is_built(bare, skips):
    assert (bare / "launch").exists()
    subprocess.run([bare / "probes/null/null", "--selftest"], check=True)
    assert not list(bare.glob("engines/*/*"))
    assert {name.partition("/")[0] for name in skips} == LANGUAGES
