# SPDX-License-Identifier: Apache-2.0
"""Which texts of a session may be published, and in which form; `library/forms.toml` lists them.

What passes here passes again unchanged, so that a file that was published can be held to the same forms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources

import msgspec

from steelyard.errors import InstallationError
from steelyard.records import Record

#: What stands for words that are not published.
ELLIPSIS = "…"
#: Words of programs, which are no facts of the machine.
_OF_PROGRAMS = ("compiler", "flags")


class _Words(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words that may be published, and the form of others that may be."""

    listed: frozenset[str]
    form: str = "(?!)"

    def may_have(self, word: str) -> bool:
        """Whether a word is one of these, without the brackets and the punctuation around it."""
        bare = word.rstrip(",;:")
        inner = {bare, bare.removeprefix("("), bare.removesuffix(")"), bare.removeprefix("(").removesuffix(")")}
        return any(one in self.listed or re.fullmatch(self.form, one, re.ASCII) for one in inner)


class _Forms(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The forms by the name of the fact. ``words`` also has those of a compiler and of its flags."""

    whole: dict[str, str]
    beginning: dict[str, str]
    words: dict[str, _Words]


@cache
def _forms() -> _Forms:
    """What the library says; raises InstallationError with the field that is wrong."""
    file = resources.files("steelyard.judge.library") / "forms.toml"
    try:
        return msgspec.toml.decode(file.read_bytes(), type=_Forms)
    except msgspec.DecodeError as error:
        raise InstallationError(f"library/forms.toml: {error}") from error


def facts(told: Mapping[str, str]) -> dict[str, str]:
    """Of the facts of a machine those that may be published, in their forms."""
    found = {name: fact(name, text) for name, text in told.items()}
    return {name: text for name, text in found.items() if text}


def fact(name: str, text: str) -> str:
    """As much of a fact as may be published; empty where that is nothing."""
    forms = _forms()
    if form := forms.whole.get(name):
        return text if re.fullmatch(form, text, re.ASCII) else ""
    if form := forms.beginning.get(name):
        found = re.match(form, text, re.ASCII)
        return found[0] if found else ""
    return _published(name, text) if name in forms.words and name not in _OF_PROGRAMS else ""


def compiler(text: str) -> str:
    """A compiler or runtime with its version, without the words that may not be published."""
    return _published("compiler", text)


def flags(text: str) -> str:
    """What something was compiled or run with, without the words that may not be published."""
    return _published("flags", text)


@lru_cache(maxsize=1024)  # most cases of a session were compiled alike
def _published(kind: str, text: str) -> str:
    """The words that may be published; an ellipsis stands for those between them that may not."""
    words = _forms().words[kind]
    kept: list[str] = []
    for word in text.split():
        if words.may_have(word):
            kept.append(word)
        elif kept[-1:] != [ELLIPSIS]:
            kept.append(ELLIPSIS)
    return "" if set(kept) <= {ELLIPSIS} else " ".join(kept)
