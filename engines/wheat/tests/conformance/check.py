# SPDX-License-Identifier: Apache-2.0
"""What must become of a case. `problem` says what did instead, or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from conformance.corpus import Case
from conformance.talk import Answer, Connection, NotHttpError

Way = Callable[[bytes, str], Iterator[bytes]]

MARK = b"GET /marked HTTP/1.1\r\nHost: h\r\nX-Mark: yes\r\nConnection: close\r\n\r\n"
"""Follows every case on its connection: if anything but itself answers it, the two sides have lost count."""


def problem(address: str, case: Case, way: Way) -> str | None:
    try:
        with Connection(address) as connection:
            connection.send(way(case.request + MARK, case.name))
            wrong = (valid if case.status == 200 else invalid)(case, connection)
        called = reached_application(address)  # and forgets, whatever is wrong
    except (NotHttpError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    else:
        return wrong or (called if case.status != 200 else None)


def valid(case: Case, connection: Connection) -> str | None:
    answer = connection.answer(to_head=case.request.startswith(b"HEAD "))
    if answer is None:
        return "no answer"
    if answer.status != case.status:
        return f"{answer.status}: {answer.content[:200]!r}"
    if "content" not in case.expect:
        wrong = misheard(case, answer)
        if wrong:
            return wrong
    if answer.fields.get("connection", "").lower() != connection_field(case):
        return f"Connection: {answer.fields.get('connection')}"
    if case.closes:
        return None if connection.ends() else "something was said after the last answer"
    return mark_answered(connection)


def connection_field(case: Case) -> str:
    """What an answer must say of its connection: whatever is not the rule of the client's version (RFC 9112, 9.3)."""
    is_old = case.request.partition(b"\r\n")[0].endswith(b"HTTP/1.0")
    if case.closes:
        return "" if is_old else "close"
    return "keep-alive" if is_old else ""


def mark_answered(connection: Connection) -> str | None:
    """Whether the second request of the connection is answered as itself."""
    answer = connection.answer()
    if answer is None or answer.status != 200:
        return f"the next request is not answered, but {answer}"
    environ = json.loads(answer.content)["environ"]
    if (environ["PATH_INFO"], environ.get("HTTP_X_MARK")) != ("/marked", "yes"):
        return f"the next request is answered as {environ['PATH_INFO']}"
    return None if connection.ends() else "something was said after the last answer"


def misheard(case: Case, answer: Answer) -> str | None:
    heard = json.loads(answer.content)
    environ = heard["environ"]
    for field, value in case.expect.items():
        wanted = value.decode("latin-1")
        kind, _, name = field.partition(" ")
        key = {"method": "REQUEST_METHOD", "path": "PATH_INFO", "query": "QUERY_STRING", "environ": name}.get(kind)
        if key and environ.get(key) != wanted:
            return f"{key} is {environ.get(key)!r}"
        if kind == "absent" and wanted in environ:
            return f"{wanted} is there: {environ[wanted]!r}"
        if kind == "body" and heard["body"] != wanted:
            return f"the body is {heard['body'][:200]!r}"
    return None


def invalid(case: Case, connection: Connection) -> str | None:
    answer = connection.answer(to_head=case.request.startswith(b"HEAD "))
    if answer is None:
        return "the connection ended without an answer"
    if answer.status != case.status:
        return f"{answer.status}: {answer.content[:200]!r}"
    if not answer.closes:
        return "Connection: close is missing"
    return None if connection.ends() else f"something followed the refusal: {connection.unread[:200]!r}"


def reached_application(address: str) -> str | None:
    with Connection(address) as connection:
        connection.send(iter([b"GET /calls HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"]))
        answer = connection.answer()
        calls = json.loads(answer.content) if answer else "no answer"
    return f"the application was called: {calls}" if calls else None
