# SPDX-License-Identifier: Apache-2.0
"""What the lab says to a person while it works. Where it appears is decided by whoever starts the lab."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from steelyard.measure.conduct import Progress
from steelyard.records import Run


class Messages(Protocol):
    """Takes sentences and shows progress."""

    def say(self, sentence: str) -> None:
        """Show a sentence for people, apart from the data."""

    def progress(self, session: str, titles: Mapping[str, str]) -> AbstractContextManager[Progress]:
        """Show the progress of a session for as long as the context lasts; ``titles`` of mechanisms, by probe."""


class Silent:
    """Says nothing: for notebooks and scripts."""

    def say(self, sentence: str) -> None:
        """Drop it."""

    @contextmanager
    def progress(self, session: str, titles: Mapping[str, str]) -> Iterator[Progress]:  # noqa: ARG002
        """Show nothing."""
        yield _NoProgress()


class _NoProgress:
    def begin(self, stage: str, seconds: float, runs: int) -> None: ...

    def ran(self, run: Run, seconds_left: float) -> None: ...

    def repeating(self, runs: int) -> None: ...
