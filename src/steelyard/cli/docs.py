# SPDX-License-Identifier: Apache-2.0
"""`steelyard docs`: the reference, generated from what the parser and the probes say of themselves."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from steelyard.cli import _output as output
from steelyard.errors import InstallationError
from steelyard.judge import studies
from steelyard.lab.output import write
from steelyard.measure import catalog
from steelyard.show import formats, reference


def command(folder: Path) -> None:
    """Write the man page and the reference: commands, probes, claims, published figures, the files.

    Parameters
    ----------
    folder
        Where to: ``steelyard.1`` and a Markdown page for each part of the reference are written there.
    """
    if find_spec("docutils") is None:
        raise InstallationError("the man page is made by docutils, which is not installed: pip install docutils")
    from docutils.core import publish_string

    from steelyard.cli import build_app

    app = build_app()
    others = studies.library()
    found = catalog.load(catalog.probe_folders())
    folder.mkdir(parents=True, exist_ok=True)
    manual = reference.manual(app.generate_docs(output_format="rst", recursive=True))
    roff: bytes = publish_string(manual, writer="manpage", settings_overrides={"report_level": 4})
    write(folder / "steelyard.1", roff)
    pages = {
        "commands": app.generate_docs(output_format="markdown", recursive=True),
        "probes": reference.probes([probe.descriptor for probe in found.probes.values()], found.skips),
        "claims": reference.claims(others.claims),
        "published": reference.published(others.figures),
        "session-file": reference.session_file(),
        "published-session": reference.published_session(),
        "formats": formats.page(),
    }
    for name, text in pages.items():
        write(folder / f"{name}.md", text)
    output.say(f"wrote steelyard.1, {', '.join(f'{name}.md' for name in pages)} to {folder}")
