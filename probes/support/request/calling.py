# SPDX-License-Identifier: Apache-2.0
"""A WSGI application called without a server, as PEP 3333 has it. As a program it writes down what two calls answer.

    calling.py MODULE:CALLABLE PATH FOLDER

It is a process of its own, so that whatever the application starts when it is imported does not live in the probe.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Sequence, Tuple
from wsgiref.util import FileWrapper

Application = Callable[..., Iterable[bytes]]
_CALLS = 2


class Answered(NamedTuple):
    """What an application said."""

    status: str
    headers: List[Tuple[str, str]]
    body: bytes


def load(name: str) -> Application:
    """The application module:callable."""
    module, _, attribute = name.partition(":")
    application: Application = getattr(importlib.import_module(module), attribute or "application")
    return application


def environ_for(path: str, headers: Sequence[Tuple[str, str]] = ()) -> Dict[str, Any]:
    """The environ of a GET request, without its input."""
    path, _, query = path.partition("?")
    return {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "127.0.0.1:8000",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": FileWrapper,
        **{f"HTTP_{name.upper().replace('-', '_')}": text for name, text in headers},
    }


def call(application: Application, environ: Dict[str, Any]) -> Answered:
    """One call with a copy of the environ, its answer taken whole and closed."""
    said: List[Any] = []
    pieces: List[bytes] = []

    def start_response(status, headers, exc_info=None):  # noqa: ARG001 - PEP 3333
        said[:] = [status, headers]
        return pieces.append

    environ = environ.copy()
    environ["wsgi.input"] = io.BytesIO()
    answer = application(environ, start_response)
    try:
        pieces.extend(answer)
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()
    return Answered(said[0], said[1], b"".join(pieces))


def _main() -> None:
    name, path, folder = sys.argv[1:]
    sys.path[0] = os.getcwd()
    application = load(name)
    statuses = []
    for number in range(_CALLS):
        answered = call(application, environ_for(path))
        statuses.append(answered.status)
        with open(os.path.join(folder, f"body.{number}"), "wb") as file:
            file.write(answered.body)
    with open(os.path.join(folder, "statuses"), "w") as file:
        json.dump(statuses, file)


if __name__ == "__main__":
    _main()
