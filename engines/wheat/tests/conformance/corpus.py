# SPDX-License-Identifier: Apache-2.0
"""The corpus: one file a request, with what it says and what must become of it.

A file has a comment with the source, fields with the expectation, an empty line, and the request: its line ends are
left out, `\\r \\n \\t \\\\ \\xHH` are those bytes, and `\\repeat(N,TEXT)` is TEXT so many times.

Fields of a valid request: `expect` (status), `method`, `path` (PATH_INFO), `query`, `body`, `environ NAME`, `absent`
(a name that must not be in the environ), `content: none` (no body comes back), `closes: yes` (the connection ends).
Of an invalid one: `expect` (status)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ESCAPE = re.compile(rb"\\(?:([rnt\\])|x([0-9a-fA-F]{2}))")
REPEAT = re.compile(rb"\\repeat\((\d+),([^)]*)\)")
LETTERS = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"\\": b"\\"}


@dataclass(frozen=True)
class Case:
    name: str
    why: str
    expect: dict[str, bytes]
    request: bytes

    @property
    def status(self) -> int:
        return int(self.expect["expect"])

    @property
    def closes(self) -> bool:
        return "closes" in self.expect


def unescape(text: bytes) -> bytes:
    repeated = REPEAT.sub(lambda m: m[2] * int(m[1]), text)
    return ESCAPE.sub(lambda m: LETTERS[m[1]] if m[1] else bytes.fromhex(m[2].decode()), repeated)


def read(path: Path) -> Case:
    head, _, request = path.read_bytes().partition(b"\n\n")
    why: list[str] = []
    expect: dict[str, bytes] = {}
    for line in head.splitlines():
        if line.startswith(b"#"):
            why.append(line[1:].strip().decode())
        else:
            name, _, value = line.partition(b":")
            expect[name.decode()] = unescape(value.strip())
    return Case(path.stem, " ".join(why), expect, unescape(request.replace(b"\n", b"")))


def cases(kind: str) -> list[Case]:
    """`kind`: valid or invalid."""
    return [read(path) for path in sorted((FOLDER / kind).glob("*.http"))]
