# SPDX-License-Identifier: Apache-2.0
"""The crate's own tests, under AddressSanitizer for the sake of what is unsafe, and its format and lint."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from running import missing, tool

FOLDER = Path(__file__).parents[1]


def cargo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = Path(tool("cargo"))
    variables = os.environ | {"PATH": f"{path.parent}:{os.environ['PATH']}"} | environment
    return subprocess.run(
        [path, *arguments], cwd=FOLDER, env=variables, capture_output=True, text=True, errors="replace", check=False
    )


def test_unit_tests_under_address_sanitizer() -> None:
    """Threads and shared memory included. Miri can't run what this crate is about, which is system calls."""
    host = re.search(r"host: (\S+)", cargo("-vV").stdout)
    assert host
    done = cargo(
        *("test", "--lib", "--no-default-features", "--features", "compress", "--target", host[1]),
        *("--target-dir", "target/sanitized"),
        RUSTC_BOOTSTRAP="1",  # lets a stable compiler have the sanitizer
        RUSTFLAGS="-Zsanitizer=address",
        ASAN_OPTIONS="detect_leaks=0",  # counters live as long as the process, in tests as well
        CARGO_PROFILE_DEV_DEBUG="line-tables-only",  # all that a report of the sanitizer has, and compiled sooner
    )
    if "librustc" in done.stderr and "asan" in done.stderr and "cannot find" in done.stderr:
        missing("this Rust has no AddressSanitizer")
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    passed = re.search(r"test result: ok\. (\d+) passed; 0 failed", done.stdout)
    assert passed, done.stdout[-500:]
    assert int(passed[1]) > 50


def test_format() -> None:
    done = cargo("fmt", "--check")
    if "no such command" in done.stderr or "is not installed" in done.stderr:
        missing("rustfmt is not installed")
    assert done.returncode == 0, done.stdout[-3000:]


def test_lint() -> None:
    done = cargo(
        *("clippy", "--all-targets", "--features", "extension-module", "--quiet", "--target-dir", "target/lint"),
        *("--", "-D", "warnings"),
        PYO3_PYTHON=sys.executable,
    )
    if "no such command" in done.stderr or "is not installed" in done.stderr:
        missing("clippy is not installed")
    assert done.returncode == 0, done.stderr[-3000:]
