# SPDX-License-Identifier: Apache-2.0
"""`steelyard docs`: the reference, generated from what the parser and the probes say of themselves."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from steelyard.errors import InstallationError
from steelyard.measure import catalog
from steelyard.show import reference


def command(folder: Path) -> None:
    """Write the man page, the page of all commands and the table of all probes.

    Parameters
    ----------
    folder
        Where to: ``steelyard.1``, ``commands.md`` and ``probes.md`` are written there.
    """
    if find_spec("docutils") is None:
        raise InstallationError("the man page is made by docutils, which is not installed: pip install docutils")
    from docutils.core import publish_string

    from steelyard.cli import build_app

    app = build_app()
    found = catalog.load(catalog.probe_folders())
    folder.mkdir(parents=True, exist_ok=True)
    manual = reference.manual(app.generate_docs(output_format="rst", recursive=True))
    roff: bytes = publish_string(manual, writer="manpage", settings_overrides={"report_level": 4})
    (folder / "steelyard.1").write_bytes(roff)
    (folder / "commands.md").write_text(app.generate_docs(output_format="markdown", recursive=True))
    descriptors = [probe.descriptor for probe in found.probes.values()]
    (folder / "probes.md").write_text(reference.probes(descriptors, found.skips))
    sys.stdout.write(f"wrote steelyard.1, commands.md and probes.md to {folder}\n")
