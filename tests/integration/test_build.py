# SPDX-License-Identifier: Apache-2.0
"""The build goes through with the oldest and the newest CMake that pyproject.toml allows."""

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


@pytest.mark.parametrize("wanted", [f"=={OLDEST}.*", f">={OLDEST}"], ids=["oldest", "newest"])
def test_the_build_goes_through_with_this_cmake(wanted, tmp_path):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", tmp_path / "cmake", f"cmake{wanted}"]
    done = subprocess.run(install, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        processes.missing(f"cmake{wanted} cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    cmake, build = tmp_path / "cmake/cmake/data/bin/cmake", tmp_path / "build"
    ninja, packages = processes.tool("ninja"), sysconfig.get_path("purelib")
    options = (f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DCMAKE_PREFIX_PATH={packages}")
    for command in (
        [cmake, "-S", ROOT, "-B", build, "-G", "Ninja", *options],
        [cmake, "--build", build, "--target", *TARGETS],
    ):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "CMake Warning" not in done.stderr, done.stderr
