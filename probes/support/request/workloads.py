# SPDX-License-Identifier: Apache-2.0
"""What the servers are asked for: the applications, their data, and what the right answer is."""

from __future__ import annotations

import importlib
import os
import random
import sys
from typing import Dict, NamedTuple, Optional, Tuple

APPLICATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "applications")
STATIC_SIZES = {"static_1k": 1 << 10, "static_16k": 16 << 10, "static_1m": 1 << 20}
NAMES = ("hello", "page", "search", *STATIC_SIZES, "own")


class Workload(NamedTuple):
    """An application with its data made, and how to tell that an answer is right."""

    application: str  #: module:callable
    path: str
    body: Optional[bytes]  #: None where it differs from request to request
    environment: Dict[str, str]
    import_folders: Tuple[str, ...]
    folder: str

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
        body = importlib.import_module(name).BODY
    application = f"{module}:application"
    environment["STEELYARD_REQUEST_APPLICATION"] = application
    return Workload(application, path, body, environment, (APPLICATIONS,), data)


def static_body(size: int) -> bytes:
    """Bytes that no two files of different sizes share and that do not compress."""
    return random.Random(size).getrandbits(8 * size).to_bytes(size, "little")  # noqa: S311 - no secret
