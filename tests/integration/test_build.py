# SPDX-License-Identifier: Apache-2.0
"""The build goes through with the oldest and the newest CMake that pyproject.toml allows, and with one compiler."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).parents[2]
OLDEST = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["cmake"]["version"].strip(">= ")
#: The launcher, a probe with variants, and one in C++.
TARGETS = ("launch", "probe_code_profile", *(["probe_switch_lazy"] if shutil.which("c++") else []))
#: What compiles C or C++, by the compiler that it belongs to; a machine's `cc` is one of these.
COMPILERS = {
    "gcc": re.compile(r"(?:.*-)?(gcc|g\+\+)(-[\d.]+)?"),
    "clang": re.compile(r"(?:.*-)?(clang|clang\+\+|clang-cpp)(-[\d.]+)?"),
}
#: A command for which some programs are not there: a file that nobody can start stands in the place of each.
WITHOUT = """
nothing=$1; shift
while [ "$1" != -- ]; do mount --bind "$nothing" "$1" || exit; shift; done; shift
exec "$@"
"""


def built(build: Path, *before: object, cmake: Path | str, **environment: str) -> None:
    """Configure and build `TARGETS`, without a warning of CMake; ``before``: programs that start these commands."""
    ninja, packages = processes.tool("ninja"), sysconfig.get_path("purelib")
    options = (f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DCMAKE_PREFIX_PATH={packages}")
    for command in (
        [*before, cmake, "-S", ROOT, "-B", build, "-G", "Ninja", *options],
        [*before, cmake, "--build", build, "--target", *TARGETS],
    ):
        done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **environment})
        assert done.returncode == 0, done.stdout + done.stderr
        assert "CMake Warning" not in done.stderr, done.stderr


@pytest.mark.parametrize("wanted", [f"=={OLDEST}.*", f">={OLDEST}"], ids=["oldest", "newest"])
def test_the_build_goes_through_with_this_cmake(wanted, tmp_path):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", tmp_path / "cmake", f"cmake{wanted}"]
    done = subprocess.run(install, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        processes.missing(f"cmake{wanted} cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    built(tmp_path / "build", cmake=tmp_path / "cmake/cmake/data/bin/cmake")


@pytest.mark.parametrize("only", COMPILERS)
def test_one_compiler_is_enough(only, tmp_path):
    processes.tool(only)
    [other] = COMPILERS.keys() - {only}
    nothing, build = tmp_path / "nothing", tmp_path / "build"
    nothing.touch(mode=0o600)
    named = [path for folder in os.environ["PATH"].split(os.pathsep) for path in Path(folder).glob("*")]
    hidden = {path.resolve() for path in named if COMPILERS[other].fullmatch(path.name) and path.exists()}
    kept = {path.resolve() for path in named if COMPILERS[only].fullmatch(path.name)}
    without = ("unshare", "-m", "sh", "-c", WITHOUT, "sh", nothing, *sorted(hidden - kept), "--")
    if subprocess.run([*without, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("only root can hide a compiler")
    assert subprocess.run([*without, other, "--version"], check=False, capture_output=True).returncode != 0
    built(build, *without, cmake=processes.tool("cmake"), CC="", CXX="")
    for question, way in (target.split("_")[1:] for target in TARGETS if target != "launch"):
        probe = build / "probes" / question / way
        variant = [f"compiler={only}", "--operations", "10", "--values", "1"]
        words = variant if question == "code" else ["--selftest"]
        done = subprocess.run([probe, *words], check=False, capture_output=True)
        assert done.returncode == 0, (probe, done.stderr)
