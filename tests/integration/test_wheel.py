# SPDX-License-Identifier: Apache-2.0
"""A wheel holds programs of its architecture that ask for nothing but an old glibc, and works where no compiler is."""

import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests import processes
from tests.long import LONG

ROOT = Path(__file__).parents[2]
#: Tells that a probe can't run here.
SKIPPED = 77
#: Probes that start a second program of their own machine.
STARTS_ANOTHER = re.compile(r"serve/|create/(exec|spawn)$")
#: Of the launcher and the probes, what a build for everybody must hold.
LANGUAGES = {"c": "call/direct", "cpp": "switch/lazy", "go": "switch/gosched", "rust": "switch/tokio_yield"}

_spec = importlib.util.spec_from_file_location("wheel_of_steelyard", ROOT / "packaging" / "wheel.py")
wheel = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(wheel)


def planted(path: Path, machine: int) -> Path:
    """A wheel with one program of this machine, which is no program but its head."""
    with zipfile.ZipFile(path, "w") as files:
        files.writestr("steelyard/_native/probes/call/direct", b"\x7fELF" + bytes(14) + machine.to_bytes(2, "little"))
        files.writestr("steelyard/_native/probes/parallel/tbb.skip", "TBB tbb was not found, and so on\n")
    return path


def test_a_program_of_another_machine_is_found(tmp_path, monkeypatch):
    shown = 'is consistent with\nthe following platform tag: "manylinux_2_28_aarch64".'
    monkeypatch.setattr(wheel.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, shown, ""))
    found = list(wheel.complaints(planted(tmp_path / "a.whl", 62), "aarch64"))
    assert found == [
        "steelyard/_native/probes/call/direct is a program of another machine than aarch64",
        "the launcher is not in it",
    ]
    assert list(wheel.complaints(planted(tmp_path / "b.whl", 183), "aarch64")) == ["the launcher is not in it"]


@pytest.mark.parametrize(
    ("code", "shown", "said"),
    [
        (0, 'platform tag: "manylinux_2_35_x86_64".', "needs glibc 2.35, newer than 2.28"),
        (0, 'platform tag: "linux_x86_64".', "to be no manylinux"),
        (1, "", "to be no manylinux"),
    ],
)
def test_what_asks_for_a_newer_system_is_found(tmp_path, monkeypatch, code, shown, said):
    monkeypatch.setattr(wheel.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], code, shown, ""))
    assert said in next(iter(wheel.complaints(planted(tmp_path / "a.whl", 62), "x86_64")))


def test_what_is_left_out_is_said_with_its_reason(tmp_path):
    assert list(wheel.left_out(planted(tmp_path / "a.whl", 62))) == [
        ("parallel/tbb", "TBB tbb was not found, and so on")
    ]


def test_an_architecture_that_nobody_builds_for_is_refused(tmp_path, capsys):
    assert wheel.main([str(tmp_path), "m68k"]) == 64
    assert "usage" in capsys.readouterr().out


@pytest.fixture(scope="module", params=["x86_64", "aarch64"])
def made(request, tmp_path_factory):
    """A wheel, its architecture and what is in it."""
    if not LONG:
        pytest.skip("minutes of building are for make test-all")
    for library in ("ziglang", "auditwheel"):
        if importlib.util.find_spec(library) is None:
            processes.missing(f"{library} is not installed: run `make wheel` once")
    folder = tmp_path_factory.mktemp(request.param)
    command = [sys.executable, ROOT / "packaging" / "wheel.py", folder, request.param]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = folder.glob("*.whl")
    unpacked = folder / "unpacked"
    # By pip, because Python's own zipfile makes no program of a program.
    install = (
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--target",
        unpacked,
        "--platform",
        file.stem.split("-")[-1],
    )
    subprocess.run([sys.executable, "-m", "pip", *install, "--only-binary=:all:", file], check=True)
    return file, request.param, unpacked


def probes(unpacked: Path) -> dict[str, Path]:
    """The probes that are programs of a machine, by name."""
    folder = unpacked / "steelyard" / "_native" / "probes"
    found = {
        f"{path.parent.name}/{path.name}": path
        for path in folder.glob("*/*")
        if path.is_file() and os.access(path, os.X_OK)
    }
    return {name: path for name, path in found.items() if path.read_bytes()[:4] == b"\x7fELF"}


def test_every_compiled_language_is_in_a_wheel(made):
    _, _, unpacked = made
    assert set(LANGUAGES.values()) <= probes(unpacked).keys()
    assert list((unpacked / "steelyard" / "_native" / "java").glob("*.class"))


def test_every_probe_of_a_wheel_passes_its_own_test(made, tmp_path):
    _, architecture, unpacked = made
    before, found = [], probes(unpacked)
    if architecture != platform.machine():
        before = [processes.tool(f"qemu-{architecture}"), "-L", f"/usr/{architecture}-linux-gnu"]
        if not Path(f"/proc/sys/fs/binfmt_misc/qemu-{architecture}").exists():
            # The emulator runs one program; the kernel does not know how to start another one of that machine from it.
            found = {name: path for name, path in found.items() if not STARTS_ANOTHER.match(name)}
    failed = {}
    for name, path in found.items():
        own = tmp_path / name  # what the lab gives each run, and removes after it
        own.mkdir(parents=True)
        done = subprocess.run(
            [*before, path, "--selftest"], cwd=own, check=False, capture_output=True, timeout=processes.PATIENCE_S
        )
        if done.returncode not in (0, SKIPPED):
            failed[name] = (done.returncode, done.stderr.decode(errors="replace")[-300:])
    assert failed == {}


def test_a_wheel_measures_and_shows_without_a_compiler(made, tmp_path):
    file, architecture, _ = made
    if architecture != platform.machine():
        pytest.skip("a wheel is installed on a machine of its architecture")
    venv.create(tmp_path / "weigh", with_pip=False, symlinks=True)
    [site] = (tmp_path / "weigh" / "lib").glob("*/site-packages")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, file], check=True)
    # The libraries are those of the tests; a .pth in them, such as that of the checkout, is not read.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "taskset", "readlink", "dirname"):
        (programs / name).symlink_to(shutil.which(name))
    environment = {"PATH": str(programs), "HOME": str(tmp_path), "STEELYARD_LOCK": str(tmp_path / "lock")}
    shutil.copytree(site, tmp_path / "before")
    measure, page = ["run", "call/direct", "--quick", "--blocks", "1"], ["report", "-o", tmp_path / "page.html"]
    for words in (measure, page, ["doctor", "--json"]):
        command = [tmp_path / "weigh" / "bin" / "python", "-B", "-m", "steelyard", *words]
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "page.html").stat().st_size > 100_000
    skips = {skip["subject"]: skip["reason"] for skip in json.loads(done.stdout)["skips"]}
    assert "java is not found: install Java 21 or later" in skips["create/java_thread"]
    assert "node is not found: install Node" in skips["switch/promise"]
    assert skips["parallel/tbb"].endswith("a wheel is built once for all: use a checkout and `make build`")
    changed = subprocess.run(["diff", "-r", site, tmp_path / "before"], check=False, capture_output=True, text=True)
    assert changed.stdout == ""
