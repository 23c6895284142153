# SPDX-License-Identifier: Apache-2.0
"""The least that a WSGI application can answer: 11 bytes and their length."""

BODY = b"hello world"
_HEADERS = [("Content-Type", "text/plain"), ("Content-Length", str(len(BODY)))]


def application(environ, start_response):  # noqa: ARG001 - PEP 3333
    """Answer every request alike."""
    start_response("200 OK", list(_HEADERS))
    return [BODY]
