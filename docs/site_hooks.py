# SPDX-License-Identifier: Apache-2.0
"""What the documentation site is made of besides the pages: the generated reference, and the order of the sections.

mkdocs calls these functions by their names; `steelyard docs` writes the same reference without a site.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation

from steelyard.cli.docs import command as write_reference

#: From doing to knowing; a section that is not named here comes last.
SECTIONS = ("Tutorial", "How-to", "Reference", "Explanation", "Decisions")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference of commands, probes and the session file, as the installed program says them."""
    with tempfile.TemporaryDirectory() as folder:
        write_reference(Path(folder))
        for page in sorted(Path(folder).glob("*.md")):
            files.append(File.generated(config, f"reference/{page.name}", content=page.read_text()))
    return files


def on_nav(nav: Navigation, **_: object) -> Navigation:
    """Put the sections into the order in which a newcomer wants them."""
    order = {title: number for number, title in enumerate(SECTIONS)}
    nav.items.sort(key=lambda item: -1 if item.is_page else order.get(str(item.title), len(order)))
    return nav
