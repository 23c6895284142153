# SPDX-License-Identifier: Apache-2.0
"""What a server does wrong with an application, by a few harmless requests: GET and HEAD, for it is the user's own.

The rules are those of RFC 9110, RFC 9112 and PEP 3333; the list is not a test of safety, but of what servers differ in.
"""

from __future__ import annotations

import os
import re
import socket
from typing import Callable, List, Optional, Tuple

_HOST = "127.0.0.1"
_PATIENCE_S = 1.0
_CHECK = "X-Steelyard-Check: 1"


def wrong_with(port: int, path: str, data: str) -> List[str]:
    """What it does wrong, a clause each that follows its name."""
    found = []
    for question in _QUESTIONS:
        try:
            if complaint := question(port, path):
                found.append(complaint)
        except OSError as error:
            found.append(f"does not answer a plain request: {error}")
    try:
        with open(os.path.join(data, "complaints")) as file:
            found += dict.fromkeys(line.strip() for line in file)
    except FileNotFoundError:
        pass
    return found


def _talk(port: int, request: bytes) -> bytes:
    """All that comes back until the server closes or is silent for a while."""
    data = b""
    with socket.create_connection((_HOST, port), timeout=_PATIENCE_S) as connection:
        connection.sendall(request)
        try:
            while chunk := connection.recv(1 << 16):
                data += chunk
        except (socket.timeout, ConnectionResetError):
            pass
    return data


def _request(method: str, path: str, *headers: str, last: bool = True) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {_HOST}", *headers, *(("Connection: close",) if last else ())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _status(answer: bytes) -> int:
    words = answer.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def _validator(port: int, path: str) -> Optional[str]:
    """Whatever the validator says, the application writes down; a query with escapes is passed as it is sent."""
    joined = f"{path}{'&' if '?' in path else '?'}a=%20b&c=d"
    for asked in (path, joined):
        _talk(port, _request("GET", asked, _CHECK, "Proxy: http://example.invalid/"))
    _talk(port, _request("GET", path, _CHECK, "X_Forged_By: underscore"))
    return None


def _head(port: int, path: str) -> Optional[str]:
    answer = _talk(port, _request("HEAD", path))
    return "answers a HEAD request with a body" if answer.partition(b"\r\n\r\n")[2] else None


def _pipelined(port: int, path: str) -> Optional[str]:
    three = _request("GET", path, last=False) * 2 + _request("GET", path)
    answers = len(re.findall(rb"HTTP/1\.[01] \d{3} ", _talk(port, three)))
    return None if answers >= 3 else f"answers {answers} of 3 pipelined requests"


def _lengths(port: int, path: str) -> Optional[str]:
    answer = _talk(port, _request("GET", path, "Content-Length: 0", "Content-Length: 1"))
    return "takes a request with two different lengths" if 200 <= _status(answer) < 400 else None


def _both_framings(port: int, path: str) -> Optional[str]:
    answer = _talk(port, _request("GET", path, "Content-Length: 4", "Transfer-Encoding: xchunked") + b"0\r\n\r\n")
    return "takes a request with an unknown transfer coding" if 200 <= _status(answer) < 400 else None


_QUESTIONS: Tuple[Callable[[int, str], Optional[str]], ...] = (_validator, _head, _pipelined, _lengths, _both_framings)
