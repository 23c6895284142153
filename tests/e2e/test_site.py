# SPDX-License-Identifier: Apache-2.0
"""The documentation builds as a site with its generated reference, no link of it is broken, and it loads nothing."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
        capture_output=True,
    )
    return folder


def test_every_page_is_there_and_so_is_the_reference(site):
    pages = {str(path.relative_to(ROOT / "docs").with_suffix(".html")) for path in (ROOT / "docs").rglob("*.md")}
    generated = {f"reference/{name}.html" for name in ("commands", "probes", "claims", "published", "session-file")}
    there = {str(path.relative_to(site)) for path in site.rglob("*.html")}
    assert pages | generated <= there


def test_no_page_loads_anything_from_elsewhere(site):
    loads = re.compile(
        r"<(?:script|img|iframe)[^>]*\ssrc=\"(?:https?:)?//|<link[^>]*rel=\"stylesheet\"[^>]*href=\"(?:https?:)?//"
    )
    for page in site.rglob("*.html"):
        assert not loads.search(page.read_text()), page


def test_no_two_pages_have_the_same_title():
    """The navigation and the search show nothing else of a page."""
    titles = Counter(page.read_text().partition("\n")[0] for page in (ROOT / "docs").rglob("*.md"))
    assert [title for title, pages in titles.items() if pages > 1] == []
