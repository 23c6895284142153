# SPDX-License-Identifier: Apache-2.0
"""The pages of a folder of sessions, as `lab.server` gives them to a browser."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from steelyard.errors import SteelyardError, UsageError
from steelyard.judge import comparisons, rules
from steelyard.judge.controls import controls, void_reason
from steelyard.judge.findings import judge
from steelyard.judge.report import report
from steelyard.judge.samples import case_runs
from steelyard.keep import folder as folders
from steelyard.keep.folder import Complain
from steelyard.keep.session import decode, read
from steelyard.lab import studies
from steelyard.lab.many import history_of
from steelyard.measure.plan import NULL
from steelyard.show import html
from steelyard.show import ui as pages

_MARGIN = 0.02
#: Pages that are made at once.
MOST_AT_ONCE = 4


class NotThereError(Exception):
    """What was asked for is not in the folder."""


class Browser:
    """The pages of one folder. A page shows only files that `find` lists: no path is taken from a request."""

    def __init__(self, folder: Path, complain: Complain) -> None:
        self._folder, self._complain = folder, complain
        self._known: dict[tuple[Path, int, int], folders.Overview | str] = {}
        self._void: dict[tuple[Path, int, int], bool] = {}
        # A few at a time: the pages of one person do not fill the machine.
        self._turn = threading.BoundedSemaphore(MOST_AT_ONCE)
        self.routes: Mapping[str, Callable[[Mapping[str, list[str]]], str]] = {
            "/": self._list,
            "/session": self._session,
            "/compare": self._compare,
            "/history": self._history,
            "/report": self._report,
        }

    def page(self, path: str, asked: Mapping[str, list[str]]) -> str:
        """The page of this path; raises KeyError for no page, SteelyardError with a sentence for one that can't be."""
        with self._turn:
            return self.routes[path](asked)

    def _paths(self) -> dict[str, Path]:
        """The session files by their names in the folder."""
        return {str(path.relative_to(self._folder)): path for path in folders.find([self._folder])}

    def _overviews(self) -> tuple[list[pages.Listed], list[str]]:
        """The sessions, newest first, and a sentence for each file that can't be used."""
        found, unusable = [], []
        known: dict[tuple[Path, int, int], folders.Overview | str] = {}
        for name, path in self._paths().items():
            try:
                state = path.stat()
            except OSError:
                continue
            key = (path, state.st_size, state.st_mtime_ns)
            look = self._known.get(key)
            if look is None:
                try:
                    look = folders.overview(path)
                except SteelyardError as error:
                    look = str(error)
            known[key] = look
            if isinstance(look, str):
                unusable.append(look)
            else:
                blocks = look.end.blocks if look.end else None
                found.append(pages.Listed(name=name, header=look.header, blocks=blocks))
        self._known = known
        return sorted(found, key=lambda one: (one.header.started, one.name), reverse=True), unusable

    def _is_void(self, path: Path) -> bool:
        """Whether the controls of a session failed, which is found out once for each file."""
        try:
            state = path.stat()
            key = (path, state.st_size, state.st_mtime_ns)
            if key not in self._void:
                # The runs of the controls are a few of many.
                lines = path.read_bytes().splitlines(keepends=True)
                kept = [line for line in lines if b'"type":"run"' not in line or f'"{NULL}'.encode() in line]
                session = decode(b"".join(kept), str(path))
                by_name = {runs.planned.case.name: runs for runs in case_runs(session)}
                self._void[key] = void_reason(controls(session, by_name)) is not None
            return self._void[key]
        except (OSError, SteelyardError):
            return False

    def _cases(self) -> list[str]:
        found, _ = self._overviews()
        return sorted({case.name for one in found for case in one.header.selection})

    def _list(self, asked: Mapping[str, list[str]]) -> str:
        words = " ".join(asked.get("words", []))
        found, unusable = self._overviews()
        left = [one for one in found if one.matches(words)]
        left[: pages.MOST_ROWS] = [
            msgspec.structs.replace(one, void=self._is_void(self._folder / one.name)) for one in left[: pages.MOST_ROWS]
        ]
        return pages.sessions(left, words, len(found), str(self._folder), unusable)

    def _chosen(self, asked: Mapping[str, list[str]], counts: Sequence[int], sentence: str) -> list[tuple[str, Path]]:
        names = list(dict.fromkeys(asked.get("session", [])))
        if len(names) not in counts:
            raise UsageError(sentence)
        paths = self._paths()
        if missing := [name for name in names if name not in paths]:
            raise NotThereError(f"There is no session {missing[0]} in {self._folder}.")
        return [(name, paths[name]) for name in names]

    def _session(self, asked: Mapping[str, list[str]]) -> str:
        [(name, path)] = self._chosen(asked, (1,), "Choose one session from the list.")
        return pages.session(name, judge(read(path), studies.library()))

    def _compare(self, asked: Mapping[str, list[str]]) -> str:
        chosen = self._chosen(asked, (2,), "Pick two sessions in the list, not fewer and not more.")
        both = sorted(((name, read(path)) for name, path in chosen), key=lambda one: one[1].header.started)
        found = comparisons.compare_sessions(both[0][1], both[1][1], margin=_MARGIN)
        return pages.compared((both[0][0], both[1][0]), found)

    def _history(self, asked: Mapping[str, list[str]]) -> str:
        text = " ".join(asked.get("case", [])).strip()
        cases = self._cases()
        if not text:
            return pages.ask_history(cases)
        paths = self._paths()
        try:
            found = history_of(text, list(paths.values()), _MARGIN, self._complain)
        except SteelyardError as error:
            return pages.ask_history(cases, text, str(error))
        return pages.case_history(found, cases, {str(path): name for name, path in paths.items()})

    def _report(self, asked: Mapping[str, list[str]]) -> str:
        chosen = self._chosen(asked, (1, 2), "Choose one session from the list, or two.")
        sessions = sorted((read(path) for _, path in chosen), key=lambda session: session.header.started)
        made = report(sessions, margin=_MARGIN, library=studies.library())
        return html.page(made, rules.check(made))
