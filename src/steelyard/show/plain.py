# SPDX-License-Identifier: Apache-2.0
"""Text that stands in a file, as a terminal may have it."""

from __future__ import annotations


def plain(text: str) -> str:
    """One line without control characters: what anybody wrote into a file must not move the cursor of a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
