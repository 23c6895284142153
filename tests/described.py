# SPDX-License-Identifier: Apache-2.0
"""What every installed probe answers to `--describe`, asked once a test run: the workers share it in a file."""

import concurrent.futures
import contextlib
import fcntl
import functools
import json
import os
import subprocess
from collections.abc import Iterable
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


def _ask(names: Iterable[str]) -> dict[str, Answer]:
    wanted = list(names)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(wanted, pool.map(_asked, wanted), strict=True))


def shared(config: pytest.Config) -> Path | None:
    """The file beside the folders of the workers, or of a run that a test starts among these."""
    base = config.getoption("basetemp")
    return Path(base).parent / "described.json" if base else None


@functools.cache
def answers(config: pytest.Config) -> dict[str, Answer]:
    """What every probe answers; the first worker that comes here asks."""
    path = shared(config)
    if path is None:
        return _ask(PROBES)
    if not hasattr(config, "workerinput"):
        said = json.loads(path.read_text()) if path.exists() else {}
        return said | _ask(PROBES.keys() - said.keys())
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if not (said := file.read()):
            said = json.dumps(_ask(PROBES))
            file.write(said)
        return json.loads(said)


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
    path = shared(config)
    return descriptors(config) if path and path.exists() else {}
