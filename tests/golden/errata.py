# SPDX-License-Identifier: Apache-2.0
"""Writes the page of what studies got wrong from their errata: `python -m tests.golden.errata`."""

from pathlib import Path

from steelyard.judge import studies
from steelyard.show import reference

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "what-five-studies-got-wrong.md"


def page() -> str:
    """The page as the library has it."""
    return reference.errata(studies.library().studies)


if __name__ == "__main__":
    PAGE.write_text(page())
