# SPDX-License-Identifier: Apache-2.0
"""Builds wheels that need no compiler where they are installed: `python packaging/wheel.py FOLDER ARCHITECTURE…`.

One compiler builds for every architecture and for an old glibc, without a container: zig, whose reasons are in
docs/decisions/0007-wheels-are-built-by-zig.md. It stands behind four small programs, `cc` and the like, which CMake and
cargo take for those of another machine. Go builds for any by itself; Java's classes, Python and JavaScript are the same
everywhere. A wheel is looked at before it goes into FOLDER: by auditwheel, and whether each program is of its
architecture.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The oldest glibc that a wheel runs with: that of Debian 10, RHEL 8 and Ubuntu 18.10, as manylinux_2_28 has it.
GLIBC = (2, 28)
#: By architecture: what Go calls it, and the number of its machine in the header of an ELF file.
ARCHITECTURES = {"x86_64": ("amd64", 62), "aarch64": ("arm64", 183)}
COMPILER = """\
#!/bin/sh
exec '{zig}' {part} -target {architecture}-linux-gnu.{glibc} -fno-sanitize=undefined "$@"
"""
TOOL = """\
#!/bin/sh
exec '{zig}' {part} "$@"
"""
TOOLCHAIN = """\
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {architecture})
set(CMAKE_C_COMPILER "{tools}/cc")
set(CMAKE_CXX_COMPILER "{tools}/c++")
set(CMAKE_AR "{tools}/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "{tools}/ranlib" CACHE FILEPATH "")
"""


def main(arguments: list[str]) -> int:
    """Build the wheels that are asked for; returns the exit code."""
    if len(arguments) < 2 or set(arguments[1:]) - ARCHITECTURES.keys():
        print(f"usage: python packaging/wheel.py FOLDER ARCHITECTURE…, of {' and '.join(ARCHITECTURES)}")
        return 64
    if find_spec("ziglang") is None or find_spec("auditwheel") is None:
        print("wheel: ziglang or auditwheel is not installed: run `make wheel`, which installs both")
        return 69
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for architecture in arguments[1:]:
        with tempfile.TemporaryDirectory(prefix="steelyard-wheel-") as made:
            build(architecture, Path(made))
            [wheel] = Path(made).glob("*.whl")
            if found := list(complaints(wheel, architecture)):
                print("\n".join(f"wheel: {wheel.name}: {line}" for line in found))
                return 1
            kept = Path(shutil.copy(wheel, folder))
        print(f"{kept}  {kept.stat().st_size / 1e6:.1f} MB")
        for probe, reason in left_out(kept):
            print(f"  left out: {probe}: {reason}")
    return 0


def build(architecture: str, folder: Path) -> None:
    """Build the wheel of an architecture into a folder, by pip; ends the process where that fails."""
    work = ROOT / "build" / "wheel" / architecture
    tools = write_tools(architecture, work / "tools")
    go, _ = ARCHITECTURES[architecture]
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("CI", "CC", "CXX", "CFLAGS", "CXXFLAGS")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GOARCH": go,
        "GOOS": "linux",
        "CARGO_PROFILE_RELEASE_STRIP": "symbols",
    }
    settings = {
        "build-dir": work / "cmake",
        "wheel.tags": f"py3-none-manylinux_{GLIBC[0]}_{GLIBC[1]}_{architecture}",
        "cmake.define.CMAKE_TOOLCHAIN_FILE": tools / "toolchain.cmake",
        "cmake.define.STEELYARD_WHEEL": "ON",
    }
    given = [f"--config-settings={name}={value}" for name, value in settings.items()]
    # In the environment of the checkout, whose CMake and scikit-build-core have built the probes already.
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    if subprocess.run([*pip, *given, ROOT], env=environment, check=False).returncode != 0:
        sys.exit(f"wheel: {architecture} was not built: pip says above why")


def write_tools(architecture: str, folder: Path) -> Path:
    """Write the compilers for an architecture as programs, and CMake's file about them; returns their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    [package] = find_spec("ziglang").submodule_search_locations  # type: ignore[union-attr,misc]
    words = {
        "zig": Path(package) / "zig",
        "architecture": architecture,
        "glibc": ".".join(map(str, GLIBC)),
        "tools": folder,
    }
    parts = {"cc": COMPILER, "c++": COMPILER, "ar": TOOL, "ranlib": TOOL}
    for part, text in parts.items():
        write(folder / part, text.format(part=part, **words)).chmod(0o755)
    write(folder / "toolchain.cmake", TOOLCHAIN.format(**words))
    return folder


def write(path: Path, text: str) -> Path:
    """Write a file unless it says so already: what is newer is built again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def complaints(wheel: Path, architecture: str) -> Iterator[str]:
    """What keeps a wheel from being used on other machines of its architecture."""
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True, check=False
    )
    tag = re.search(rf'"manylinux_(\d+)_(\d+)_{architecture}"', shown.stdout)
    if shown.returncode != 0 or tag is None:
        yield f"auditwheel finds it to be no manylinux: {shown.stdout.strip()}{shown.stderr.strip()}"
    elif (int(tag[1]), int(tag[2])) > GLIBC:
        yield f"auditwheel finds that it needs glibc {tag[1]}.{tag[2]}, newer than {GLIBC[0]}.{GLIBC[1]}"
    _, machine = ARCHITECTURES[architecture]
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            with files.open(name) as file:
                head = file.read(20)
            if head.startswith(b"\x7fELF") and int.from_bytes(head[18:20], "little") != machine:
                yield f"{name} is a program of another machine than {architecture}"
        if not any(name.endswith("/_native/launch") for name in files.namelist()):
            yield "the launcher is not in it"


def left_out(wheel: Path) -> Iterator[tuple[str, str]]:
    """The probes that a wheel does not hold, with the reasons."""
    with zipfile.ZipFile(wheel) as files:
        for name in sorted(files.namelist()):
            if name.endswith(".skip"):
                yield "/".join(Path(name).with_suffix("").parts[-2:]), files.read(name).decode().strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
