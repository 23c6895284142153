# SPDX-License-Identifier: Apache-2.0
"""The application under the requests: it tells what it was asked, and keeps count of who asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

calls: list[str] = []


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    path = environ["PATH_INFO"]
    if path == "/calls":
        told: Any = list(calls)
        calls.clear()
    else:
        calls.append(f"{environ['REQUEST_METHOD']} {path}")
        told = {
            "environ": {name: value for name, value in environ.items() if isinstance(value, str)},
            "body": environ["wsgi.input"].read().decode("latin-1"),
        }
    content = json.dumps(told).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(content)))])
    return [content]
