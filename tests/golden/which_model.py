# SPDX-License-Identifier: Apache-2.0
"""Writes the page of which model serves which load: `python -m tests.golden.which_model SESSION…`, and links it.

The first session answers the question, and its figure is drawn. Further ones add more models, and memory.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from steelyard.judge import setup
from steelyard.judge.findings import Findings, judge
from steelyard.keep import session as sessions
from steelyard.show import charts, models

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "explanation/which-model-for-a-server.md"
FIGURE = "figures/which-model.svg"
#: Before which line of which page the link stands, once the page is there.
LINKS = (
    (
        "reference/serve.md",
        "## Limits\n",
        f"What came of it on one machine, with 27 loads: [Which model for a server](../{PAGE}).\n\n",
    ),
    (
        "index.md",
        "| see how the server wheat stands beside others |",
        f"| know which model of concurrency suits a server | [Which model for a server]({PAGE}) |\n",
    ),
)


def judged(path: Path) -> tuple[Findings, str]:
    """A session, and the command that repeats it; where its file lay is nobody's concern."""
    kept = sessions.read(path)
    findings = judge(kept)
    return findings, re.sub(r" (-o|--output)[ =]\S+", "", setup.setup_of(kept, findings).command)


def write(paths: Sequence[Path], docs: Path = DOCS) -> None:
    """The page, its figure, and the links to it where they are not there yet."""
    found = [judged(path) for path in paths]
    page = models.page(found, f"../{FIGURE}")
    (docs / PAGE).write_text(page)
    (docs / FIGURE).write_text(charts.svg(charts.models(found[0][0].models, models.TITLE, charts.FILE)))
    for name, before, link in LINKS:
        text = (docs / name).read_text()
        if PAGE not in text:
            assert text.count(before) == 1, f"{name} has no place for the link"
            (docs / name).write_text(text.replace(before, link + before))


if __name__ == "__main__":
    write([Path(name) for name in sys.argv[1:]])
