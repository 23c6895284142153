# SPDX-License-Identifier: Apache-2.0
"""`steelyard list`: what can be measured here."""

from __future__ import annotations

from steelyard.cli import _output as output
from steelyard.measure import catalog
from steelyard.show import catalog as shown


def command(*selectors: str, json: bool = False) -> None:
    """List the probes with their parameters, and what can't be measured here with the reason.

    Parameters
    ----------
    selectors
        Only probes that these select, as in ``steelyard run``.
    json
        Print every descriptor as JSON.
    """
    folders = catalog.probe_folders()
    wanted = catalog.named(folders, selectors)
    found = catalog.load(folders) if wanted is None else catalog.load_only(folders, wanted)
    chosen = catalog.select(found, selectors, {}, []) if selectors else ()
    names = {case.probe for case in chosen} if selectors else set(found.probes)
    descriptors = [probe.descriptor for name, probe in found.probes.items() if name in names]
    skips = found.skips if not selectors else ()
    if json:
        output.print_json({"probes": descriptors, "skips": skips})
    else:
        shown.show(descriptors, skips, output.console())
