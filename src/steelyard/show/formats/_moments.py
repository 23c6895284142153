# SPDX-License-Identifier: Apache-2.0
"""Moments as other tools write them. Shared by formats, and none itself."""

from __future__ import annotations

from datetime import UTC, datetime


def iso_or_none(text: object) -> str | None:
    """A moment in ISO 8601 with its zone, UTC where it says none; None for what is not a moment."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat(timespec="seconds")


def of_epoch(seconds: float) -> datetime:
    """Seconds since 1970 as a moment in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
