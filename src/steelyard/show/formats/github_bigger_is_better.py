# SPDX-License-Identifier: Apache-2.0
"""github-action-benchmark's ``customBiggerIsBetter``: the cases whose main figure is a rate."""

from __future__ import annotations

from steelyard.judge.ledger import CaseEntry
from steelyard.show.formats import _github_action
from steelyard.show.formats._github_action import export

__all__ = ["export", "why_not"]


def why_not(entry: CaseEntry) -> str | None:
    """Why a case cannot be written."""
    return _github_action.why_not(entry, "higher")
