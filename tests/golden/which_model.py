# SPDX-License-Identifier: Apache-2.0
"""Writes the page of which model serves which load from a session: `python -m tests.golden.which_model SESSION`."""

import sys
from pathlib import Path

from steelyard.judge import setup
from steelyard.judge.findings import judge
from steelyard.keep import session as sessions
from steelyard.show import charts, models

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "explanation" / "which-model-for-a-server.md"
FIGURE = DOCS / "figures" / "which-model.svg"


def write(session: Path) -> None:
    """The page and its figure."""
    kept = sessions.read(session)
    findings = judge(kept)
    command = setup.setup_of(kept, findings).command
    PAGE.write_text(models.page(findings, command, f"../figures/{FIGURE.name}"))
    FIGURE.write_text(charts.svg(charts.models(findings.models, models.TITLE, charts.FILE)))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
