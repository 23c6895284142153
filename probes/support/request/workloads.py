# SPDX-License-Identifier: Apache-2.0
"""What the servers are asked for: the applications, their data, and what the right answer is."""

from __future__ import annotations

import importlib
import os
import random
import sys
from typing import Callable, Dict, Iterable, NamedTuple, Optional, Tuple

APPLICATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "applications")
STATIC_SIZES = {"static_1k": 1 << 10, "static_16k": 16 << 10, "static_1m": 1 << 20}
#: Where a server and its client can be put: on two CPUs, or together where there is but one.
PLACEMENTS = ("cross",) if len(os.sched_getaffinity(0)) > 1 else ("same",)
NAMES = ("hello", "page", "search", *STATIC_SIZES, "own")


class Workload(NamedTuple):
    """An application with its data made, and how to tell that an answer is right."""

    application: str  #: module:callable
    path: str
    body: Optional[bytes]  #: None where it differs from request to request
    environment: Dict[str, str]
    import_folders: Tuple[str, ...]
    files: Optional[str]  #: the folder of static files, if it is about files

    def load(self) -> Callable[..., Iterable[bytes]]:
        """The application itself, imported into this process."""
        sys.path[:0] = [folder for folder in self.import_folders if folder not in sys.path]
        os.environ.update(self.environment)
        module, _, name = self.application.partition(":")
        return getattr(importlib.import_module(module), name)

    def complaint(self, status: int, body: bytes) -> Optional[str]:
        """What is wrong with an answer; None if nothing is."""
        if status != 200:
            return f"status {status} instead of 200"
        if self.body is not None and body != self.body:
            if len(body) != len(self.body):
                return f"{len(body)} bytes instead of {len(self.body)}"
            return "another body than expected, though as long"
        return None


def make(name: str, folder: str) -> Workload:
    """Make an application's data in a folder of its own."""
    data = os.path.join(folder, "data")
    os.mkdir(data)
    environment = {"STEELYARD_REQUEST_DATA": data}
    if name in STATIC_SIZES:
        module, path, body = "static", f"/static/{name}.bin", static_body(STATIC_SIZES[name])
        os.mkdir(os.path.join(data, "static"))
        with open(os.path.join(data, "static", f"{name}.bin"), "wb") as file:
            file.write(body)
    else:
        module, path = name, "/"
        sys.path.append(APPLICATIONS)
        application = importlib.import_module(name)
        os.environ.update(environment)
        application.prepare(data)
        body = application.expected()
    environment["STEELYARD_REQUEST_APPLICATION"] = f"{module}:application"
    files = os.path.join(data, "static") if name in STATIC_SIZES else None
    return Workload(f"{module}:application", path, body, environment, (APPLICATIONS,), files)


def static_body(size: int) -> bytes:
    """Bytes that no two files of different sizes share and that do not compress."""
    return random.Random(size).getrandbits(8 * size).to_bytes(size, "little")  # noqa: S311 - no secret
