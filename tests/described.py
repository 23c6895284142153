# SPDX-License-Identifier: Apache-2.0
"""What every installed probe answers to `--describe`, asked once a test run: the workers share it in a file."""

import concurrent.futures
import contextlib
import fcntl
import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

from steelyard.errors import ProtocolError
from steelyard.measure import catalog, protocol
from steelyard.records import Descriptor
from tests import processes

PROGRAMS = catalog.find_programs(catalog.probe_folders())
PROBES = {name: path for name, path in PROGRAMS.items() if path.suffix != ".skip"}
#: The exit code, and what was printed on standard output and standard error.
Answer = tuple[int, str, str]


def _asked(name: str) -> Answer:
    done = subprocess.run(
        [*catalog.command(PROBES[name]), "--describe"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=processes.PATIENCE_S,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def _ask_all() -> dict[str, Answer]:
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(PROBES, pool.map(_asked, PROBES), strict=True))


def _shared(config: pytest.Config) -> Path:
    return Path(config.getoption("basetemp")).parent / "described.json"


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@functools.cache
def answers(config: pytest.Config) -> dict[str, Answer]:
    """What every probe answers; the first worker that comes here asks."""
    if not _is_worker(config):
        return _ask_all()
    with _shared(config).open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = file.read()
        if not known:
            known = json.dumps(_ask_all())
            file.write(known)
        return json.loads(known)


@functools.cache
def descriptors(config: pytest.Config) -> dict[str, Descriptor]:
    """Of the probes that describe themselves well; a test of its own finds the others."""
    found = {}
    for name, (_, printed, _) in answers(config).items():
        with contextlib.suppress(ProtocolError):
            found[name] = protocol.parse_descriptor(printed.encode(), name)
    return found


def known(config: pytest.Config) -> dict[str, Descriptor]:
    """The same if this test run has asked all probes; else nothing: few tests need few of them."""
    return descriptors(config) if _is_worker(config) and _shared(config).exists() else {}
