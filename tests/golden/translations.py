# SPDX-License-Identifier: Apache-2.0
"""What a translation has in common with its original: headings, code, links and figures, in the same order.

`python -m tests.golden.translations` copies code, links and figures of each original into its translation, as far as
both have the same sections with the same number of them; what is left to be translated is said.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LANGUAGE = ".zh-CN"
TRANSLATIONS = sorted([*ROOT.glob(f"*{LANGUAGE}.md"), *(ROOT / "docs").rglob(f"*{LANGUAGE}.md")])
_SHARED = re.compile(
    r"^(?P<heading>#+) |^(?P<block>```.*?^```)$|(?P<code>`[^`]+`)|\]\((?P<link>[^)\s]+)\)|(?P<figure>\d(?:[\d.,]*\d)?)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Shared:
    """Something that original and translation share: its kind, its text, and where it stands in the file."""

    kind: str
    text: str
    start: int
    end: int
    line: int


def original(translation: Path) -> Path:
    """The page that was translated."""
    return translation.with_name(translation.name.replace(LANGUAGE, ""))


def shared(page: Path) -> list[Shared]:
    """All that a page shares with its translation. Links between the two are left out."""
    text, found = page.read_text(), []
    for match in _SHARED.finditer(text):
        kind = match.lastgroup or ""
        words = " ".join(match[kind].split()) if kind == "code" else match[kind]
        if kind == "link":
            target = words.replace(LANGUAGE, "")
            if target == page.name.replace(LANGUAGE, ""):
                continue
            words = target
        found.append(Shared(kind, words, *match.span(kind), text.count("\n", 0, match.start(kind)) + 1))
    return found


def difference(translation: Path) -> str | None:
    """A sentence on the first line of a translation that differs from its original; None where none does."""
    ours, theirs = shared(translation), shared(original(translation))
    for one, other in itertools.zip_longest(ours, theirs):
        if one is None or other is None or (one.kind, one.text) != (other.kind, other.text):
            here, there = _quoted(translation, one, other), _quoted(original(translation), other, one)
            return f"{here} where {there}: `python -m tests.golden.translations` copies what can be copied"
    return None


def _quoted(page: Path, one: Shared | None, other: Shared | None) -> str:
    """Where a page has which words; of a block the first line that the other does not have there."""
    name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page.name
    if one is None:
        return f"{name} has its end"
    lines, others = one.text.splitlines(), other.text.splitlines() if other else []
    below = next((n for n, pair in enumerate(itertools.zip_longest(lines, others)) if pair[0] != pair[1]), 0)
    said = lines[below] if below < len(lines) else "no further line"
    return f"{name}:{one.line + below} has {one.kind} {said}"


def _sections(found: Sequence[Shared]) -> list[list[Shared]]:
    """What stands below each heading, that included."""
    sections: list[list[Shared]] = [[]]
    for one in found:
        if one.kind == "heading":
            sections.append([])
        sections[-1].append(one)
    return sections


def mended(translation: Path) -> str:
    """The text of a translation with what its original says, in every section that has the same things."""
    text = translation.read_text()
    sections = _sections(shared(translation)), _sections(shared(original(translation)))
    pairs = list(zip(*sections, strict=False)) if len(sections[0]) == len(sections[1]) else []
    changes = [
        (one, other.text)
        for ours, theirs in pairs
        if [one.kind for one in ours] == [other.kind for other in theirs]
        for one, other in zip(ours, theirs, strict=True)
        if one.text != other.text and one.kind != "heading"
    ]
    for one, words in reversed(changes):
        text = text[: one.start] + _localized(words, one, translation) + text[one.end :]
    return text


def _localized(words: str, one: Shared, translation: Path) -> str:
    """A link leads to a translation where there is one."""
    target = translation.parent / words
    local = target.with_name(target.name.replace(".md", f"{LANGUAGE}.md"))
    return words.replace(".md", f"{LANGUAGE}.md") if one.kind == "link" and local in TRANSLATIONS else words


def main() -> int:
    """Mend every translation, and say what is left."""
    for page in TRANSLATIONS:
        page.write_text(mended(page))
    left = [said for page in TRANSLATIONS if (said := difference(page))]
    sys.stdout.writelines(f"{said}\n" for said in left)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
