# SPDX-License-Identifier: Apache-2.0
"""Names that may hold anything, made fit for lines. Shared by formats, and none itself."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""A text whose control characters are written out (``\n``, ``\x1b``): foreign names reach terminals and files."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
