# SPDX-License-Identifier: Apache-2.0
"""A file as an application hands it to its server, by wsgi.file_wrapper: for servers that serve no files themselves."""

import os

_FOLDER = os.path.join(os.environ["STEELYARD_REQUEST_DATA"], "static")
_BLOCK = 1 << 16


def application(environ, start_response):
    """Answer /static/<name> with the file of that name."""
    path = os.path.join(_FOLDER, os.path.basename(environ["PATH_INFO"]))
    file = open(path, "rb")  # noqa: SIM115 - the server closes it
    size = os.fstat(file.fileno()).st_size
    start_response("200 OK", [("Content-Type", "application/octet-stream"), ("Content-Length", str(size))])
    wrapper = environ.get("wsgi.file_wrapper")
    return wrapper(file, _BLOCK) if wrapper else _chunks(file)


def _chunks(file):
    with file:
        yield from iter(lambda: file.read(_BLOCK), b"")
