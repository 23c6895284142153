# SPDX-License-Identifier: Apache-2.0
"""A whole page with everything inline, in which nothing but its own style and script can act."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from steelyard.show.page.markup import Markup, tag

_ASSETS = resources.files("steelyard.show.page")


def document(title: str, *body: Markup, script: Markup | None = None) -> str:
    """A page of this body; ``script`` is the only one that it runs."""
    style = Markup((_ASSETS / "style.css").read_text())
    # Nothing but these texts may act: no network, no evaluated text, no inline handler, no form, no frame.
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)} 'unsafe-hashes'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", style),
    )
    whole = tag("body", *body, *([tag("script", script, type="module")] if script else []))
    return f'<!doctype html>\n<html lang="en">{head}{whole}</html>\n'


def _hash(contents: str | None) -> str:
    """What a policy says of a text that may act; none may where there is no text."""
    if contents is None:
        return "'none'"
    return f"'sha256-{base64.b64encode(hashlib.sha256(contents.encode()).digest()).decode()}'"


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the page and its place in the contents."""

    name: str
    title: str
    contents: Markup


def sections(head: Markup, parts: Sequence[Part], footer: str) -> list[Markup]:
    """The body of a page: its head with the contents, the sections, and what it was made from."""
    links = [tag("a", part.title, href=f"#{part.name}") for part in parts]
    return [
        tag("a", "Skip to the results", href=f"#{parts[0].name}", class_="skip"),
        tag("header", head, tag("nav", *links, aria_label="contents")),
        tag("main", *(tag("section", tag("h2", part.title), part.contents, id=part.name) for part in parts)),
        tag("footer", tag("p", footer)),
    ]
