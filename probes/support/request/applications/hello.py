# SPDX-License-Identifier: Apache-2.0
"""The least that a WSGI application can answer: 11 bytes and their length."""

_BODY = b"hello world"
_HEADERS = [("Content-Type", "text/plain"), ("Content-Length", str(len(_BODY)))]


def prepare(folder):
    """Nothing is needed."""


def expected():
    """What every answer must be."""
    return _BODY


def application(environ, start_response):  # noqa: ARG001 - PEP 3333
    """Answer every request alike."""
    start_response("200 OK", list(_HEADERS))
    return [_BODY]
