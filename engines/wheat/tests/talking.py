# SPDX-License-Identifier: Apache-2.0
"""A client that says exactly what a test wants, byte by byte, and reads what a client would."""

from __future__ import annotations

import http.client
import socket
from dataclasses import dataclass

from running import PATIENCE_S, Server


@dataclass
class Answer:
    status: int
    reason: str
    headers: http.client.HTTPMessage
    body: bytes
    #: The body ended before its end.
    cut: bool = False

    @property
    def text(self) -> str:
        return self.body.decode("latin-1")


class Client:
    """One connection."""

    def __init__(self, server: Server, wrap=None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
        if wrap:
            self.socket = wrap(self.socket)
        self.file = self.socket.makefile("rb")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, method: str = "GET") -> Answer:
        """The next final answer; interim ones are passed over."""

        class Shared:
            """http.client closes its file with each response; ours stays for the next."""

            def __init__(self, file) -> None:
                self.file = file

            def makefile(self, _mode):
                return Unclosed(self.file)

        class Unclosed:
            def __init__(self, file) -> None:
                self.readline, self.read, self.readinto = file.readline, file.read, file.readinto

            def close(self) -> None: ...

            def flush(self) -> None: ...

        response = http.client.HTTPResponse(Shared(self.file), method=method)
        response.begin()
        try:
            body, cut = response.read(), False
        except http.client.IncompleteRead as error:
            body, cut = error.partial, True
        return Answer(response.status, response.reason, response.headers, body, cut)

    def ask(self, path: str, body: bytes | None = None, method: str | None = None, **headers: str) -> Answer:
        method = method or ("GET" if body is None else "POST")
        lines = [f"{method} {path} HTTP/1.1", "Host: test"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if body is not None and "Transfer_Encoding" not in headers:
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))
        return self.answer(method)

    def is_closed(self) -> bool:
        """Whether the server ends the connection, which is waited for."""
        try:
            return self.file.read(1) == b""
        except ConnectionResetError:
            return True
