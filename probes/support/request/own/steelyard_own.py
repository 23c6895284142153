# SPDX-License-Identifier: Apache-2.0
"""The user's own application, and beside it the same behind wsgiref's validator for requests that ask for it.

What the validator and the questions of `conformance.py` find in an environ goes into a file, a line each. Passing every
other request on costs 0.1 us, the same for all servers. This module is alone in its folder and has a name that no user
will have, as it is imported beside the user's own.
"""

import os
import sys
import warnings
from importlib import import_module
from wsgiref.validate import validator

sys.path.insert(0, os.environ["STEELYARD_WSGI_FOLDER"])

_CHECKED = "HTTP_X_STEELYARD_CHECK"
_module, _, _name = os.environ["STEELYARD_WSGI_APPLICATION"].partition(":")
_inner = getattr(import_module(_module), _name)
_validated = validator(_inner)
_complaints = os.path.join(os.environ["STEELYARD_REQUEST_DATA"], "complaints")


def application(environ, start_response):
    """The user's application."""
    if _CHECKED in environ:
        return _check(environ, start_response)
    return _inner(environ, start_response)


def _complain(text):
    with open(_complaints, "a") as file:
        file.write(" ".join(text.split()) + "\n")


def _check(environ, start_response):
    if "HTTP_PROXY" in environ:
        _complain("lets a client set HTTP_PROXY by a header Proxy (httpoxy)")
    if environ.get("HTTP_X_FORGED_BY") == "underscore":
        _complain("lets a header X_Forged_By pass for X-Forged-By")
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            body = list(_run(environ, start_response))
    except AssertionError as error:
        _complain(f"breaks PEP 3333: {error}")
        start_response("500 Internal Server Error", [("Content-Type", "text/plain"), ("Content-Length", "0")])
        return []
    for warning in found:
        _complain(f"is not as PEP 3333 asks: {warning.message}")
    return body


def _run(environ, start_response):
    answer = _validated(environ, start_response)
    try:
        yield from answer
    finally:
        answer.close()
