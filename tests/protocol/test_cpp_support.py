# SPDX-License-Identifier: Apache-2.0
"""The support of probes in C++: what is said where a compiler, library or interface is missing."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from steelyard.measure import catalog, protocol
from tests import processes

ROOT = Path(__file__).parents[2]
PARTS = (
    *("CMakeLists.txt", "src/steelyard/measure/launch.c", "probes/support/c", "probes/support/cpp"),
    *("probes/switch/in_out.hpp", "probes/switch/boost_context.cpp"),
)
ENGINE = ("engines/coro/CMakeLists.txt", "engines/coro/include")


def configured(folder: Path, *parts: str) -> Path:
    """A build of a tree with these parts, where no Boost can be found."""
    tree, build = folder / "tree", folder / "build"
    for part in parts:
        source, target = ROOT / part, tree / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    processes.tool("c++")
    command = [processes.tool("cmake"), "-S", tree, "-B", build, "-G", "Ninja"]
    program = processes.tool("ninja")
    subprocess.run(
        [*command, f"-DCMAKE_MAKE_PROGRAM={program}", "-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON"],
        check=True,
        capture_output=True,
    )
    return build


def test_without_boost_its_probe_is_listed_with_what_to_install(tmp_path):
    [skip] = catalog.load([configured(tmp_path, *PARTS, *ENGINE) / "skips"]).skips
    assert skip.subject == "switch/boost_context"
    assert re.search(r"Boost context was not found .* apt-get install libboost-context-dev", skip.reason)


def test_where_coroutines_cannot_be_compiled_every_probe_says_which_compiler_can(tmp_path):
    skips = catalog.load([configured(tmp_path, *PARTS) / "skips"]).skips
    assert sorted(skip.subject for skip in skips) == ["cpp/conformance", "switch/boost_context"]
    for skip in skips:
        assert re.search(r"too old for coroutines: install g\+\+ 12 or clang\+\+ 14", skip.reason)


def test_the_compiler_of_the_probe_is_recorded_and_not_that_of_the_support():
    processes.tool("c++")
    program = catalog.native_folder() / "conformance" / "cpp" / "conformance"
    ran = subprocess.run([program, "--operations", "1"], capture_output=True, text=True, check=True)
    assert re.search(r'"compiler":"(GNU|Clang) \d+\.\d+', ran.stdout)
    assert '"flags":"-std=c++20 -O2' in ran.stdout


@pytest.fixture
def run(tmp_path):
    """Runs an installed probe in an empty folder."""
    programs = catalog.find_programs(catalog.probe_folders())

    def started(probe: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        if programs[probe].suffix == ".skip":
            processes.missing(programs[probe].read_text().strip())
        return subprocess.run(
            [programs[probe], *arguments, "--operations", "10", "--values", "1"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return started


def test_a_generator_is_called_removed_only_where_the_compiler_has_removed_it(run):
    ran = run("switch/generator_elided", "removed=by_compiler")
    if ran.returncode == 0:
        assert '"compiler":"Clang' in ran.stdout
    else:
        assert ran.returncode == protocol.SKIPPED_EXIT_CODE
        assert "keeps the generator and its frame" in ran.stderr


@pytest.mark.parametrize("way", ["pread", "threads"])
def test_a_synchronous_read_is_not_measured_under_the_name_of_an_asynchronous_interface(run, way):
    ran = run("file/many", f"way={way}", "io=libaio")
    assert ran.returncode == protocol.SKIPPED_EXIT_CODE
    assert "pread asks no asynchronous interface" in ran.stderr


@pytest.mark.parametrize("io", ["io_uring", "libaio"])
@pytest.mark.parametrize("way", ["callback", "lazy", "fiber", "hybrid"])
def test_every_way_reads_by_both_interfaces(run, way, io):
    ran = run("file/many", f"way={way}", f"io={io}", "depth=3")
    if ran.returncode == protocol.SKIPPED_EXIT_CODE:
        pytest.skip(ran.stderr.strip())
    assert ran.returncode == 0, ran.stderr
    assert '"bytes":40960,"checked":10' in ran.stdout


def test_a_file_that_is_no_whole_number_of_pages_is_refused(run):
    ran = run("file/one", "size=5000")
    assert ran.returncode == protocol.SKIPPED_EXIT_CODE
    assert "no whole number of pages" in ran.stderr
