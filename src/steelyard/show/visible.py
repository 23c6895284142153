# SPDX-License-Identifier: Apache-2.0
"""The one door for text that somebody else wrote: a probe, a session file, another tool, the name of a process.

Such a text may hold escape sequences that act on a terminal, and marks that turn its reading direction or that nobody
sees. Here each of them becomes a sign that a reader sees. Every `Console` passes its output through here, and so do
pages, charts, Markdown, JUnit and the other text formats. JSON keeps the exact text, with such characters escaped.

What leaves past a console must be `Visible`, which only the functions below make: mypy refuses any other text. Why the
type says what has passed, and not what has not, is in docs/decisions/0006.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, NewType

import msgspec

from steelyard.show import reasons

#: A text that has passed the door.
Visible = NewType("Visible", str)

#: Letters and marks without any ink (Unicode's property Default_Ignorable_Code_Point, those that are no controls).
_INKLESS = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0}
_INKLESS |= {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
#: Unicode has pictures of the controls of ASCII: ␀ to ␟, and ␡.
_PICTURES, _DELETE, _DELETE_PICTURE = 0x2400, 0x7F, 0x2421


class _Signs(dict[int, str]):
    """What stands for each character, found when it is first met; ``kept`` are controls that are meant."""

    def __init__(self, kept: str) -> None:
        super().__init__({ord(letter): letter for letter in kept})

    def __missing__(self, code: int) -> str:
        self[code] = _sign(code)
        return self[code]


def _sign(code: int) -> str:
    if code < ord(" "):
        return chr(_PICTURES + code)
    if code == _DELETE:
        return chr(_DELETE_PICTURE)
    return f"<U+{code:04X}>" if _acts(code) else chr(code)


def _acts(code: int) -> bool:
    """Controls, marks of format and direction, separators of lines, halves of characters, and what has no ink."""
    kind = unicodedata.category(chr(code))
    return kind.startswith("C") or kind in {"Zl", "Zp"} or code in _INKLESS


_ONE_LINE, _LINES = _Signs(""), _Signs("\n\t")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]")


def visible(text: str) -> Visible:
    """One line: ESC becomes ``␛``, a newline ``␊``, a mark that turns the direction ``<U+202E>``."""
    return Visible(text if text.isascii() and text.isprintable() else text.translate(_ONE_LINE))


def visible_lines(text: str) -> Visible:
    """Text of several lines: as `visible`, but newlines and tabs stay."""
    return Visible(text.translate(_LINES))


def visible_data(value: Any) -> Any:
    """As `visible_lines`, for every text in lists and dictionaries, names of fields included."""
    match value:
        case str():
            return visible_lines(value)
        case dict():
            return {visible_lines(key): visible_data(item) for key, item in value.items()}
        case list() | tuple():
            return [visible_data(item) for item in value]
        case _:
            return value


def json_text(value: Any, *, indent: int = 2) -> Visible:
    r"""JSON that says exactly what ``value`` does; what acts or is not seen is escaped, as ``\u202e``."""
    try:
        encoded = msgspec.json.encode(value, enc_hook=reasons.said)
    except UnicodeEncodeError:  # the name of a file that is no Unicode, which JSON cannot hold
        encoded = msgspec.json.encode(visible_data(reasons.builtins(value)))
    text = msgspec.json.format(encoded, indent=indent).decode()
    return Visible(_BEYOND_ASCII.sub(lambda found: _escaped(found[0]), text) + "\n")


def _escaped(character: str) -> str:
    if not _acts(ord(character)):
        return character
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[k : k + 4]}" for k in range(0, len(units), 4))
