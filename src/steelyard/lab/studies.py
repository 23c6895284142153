# SPDX-License-Identifier: Apache-2.0
"""The studies that sessions stand beside: those that come with the tool, and those of the user, held to the probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.errors import StudyError
from steelyard.judge import studies
from steelyard.judge.studies import Library, Mention
from steelyard.keep import studies as kept
from steelyard.measure import catalog, protocol
from steelyard.measure.catalog import Probe
from steelyard.records import CasePattern

#: What the processor may count of any probe, beside the metrics of its own.
_COUNTED = ("cycles", "instructions", "instructions_per_cycle", "branch_misses", "cache_misses")


def library(named: Sequence[Path] = ()) -> Library:
    """Every study: ours, those in these folders, in those of STEELYARD_STUDIES and in the user's data folder.

    Raises StudyError with the file, the entry and the key of the first mistake.
    """
    folders = kept.folders(named)
    if not folders:
        return studies.library()
    together = studies.with_others({str(folder): kept.files(folder) for folder in folders})
    mentions = [mention for study in together.studies[-len(folders) :] for mention in study.mentions()]
    names = {pattern.probe for mention in mentions if (pattern := CasePattern.parse(mention.case))}
    check(mentions, catalog.load_only(catalog.probe_folders(), names).probes)
    return together


def check(mentions: Sequence[Mention], probes: Mapping[str, Probe]) -> None:
    """Raise StudyError if a case cannot be one of its probe; probes that are not here are passed over."""
    for where, case, metric in mentions:
        pattern = CasePattern.parse(case)
        probe = probes.get(pattern.probe) if pattern else None
        if pattern is None or probe is None:
            continue
        descriptor = probe.descriptor
        for name, value in pattern.parameters.items():
            try:
                protocol.parse_parameter(descriptor, name, value)
            except ValueError as error:
                raise StudyError(f"{where}: {case}: {error}") from error
        if pattern.placement not in (None, *descriptor.placements):
            known = ", ".join(descriptor.placements)
            raise StudyError(f"{where}: {case}: {pattern.probe} is measured {known}, not {pattern.placement}")
        metrics = [one.name for one in descriptor.metrics]
        if metric not in (None, *metrics, *_COUNTED):
            raise StudyError(
                f"{where}: {case}: {pattern.probe} has no metric {metric!r} (it has: {', '.join(metrics)})"
            )
