# SPDX-License-Identifier: Apache-2.0
"""A study made of the text of its files."""

from steelyard.judge import studies

ABOUT = """
title = "An example"
year = 2000
url = "https://example.org"
machine = "none"
"""


def folder(about: str = ABOUT, **texts: str) -> dict[str, bytes]:
    """The files of a study's folder, by name without its ending."""
    return {f"{name}.toml": text.encode() for name, text in {"study": about, **texts}.items()}


def a_study(name: str = "example", about: str = ABOUT, **texts: str) -> studies.Study:
    """The study that these texts are."""
    return studies.read(f"mine/{name}", folder(about, **texts))
