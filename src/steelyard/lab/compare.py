# SPDX-License-Identifier: Apache-2.0
"""Two sides: read from files, or measured now as variants that are interleaved by blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from steelyard.errors import SelectionError, UsageError
from steelyard.judge import comparisons
from steelyard.judge.comparisons import Comparisons
from steelyard.keep import session as sessions
from steelyard.lab.session import Lab, interpreter
from steelyard.measure import catalog, plan
from steelyard.records import Case, ForeignFile, Session, Variant
from steelyard.settings import Settings
from steelyard.show import formats

#: Blocks of a comparison that is measured now: 90 % power at +5 % and 2 % noise (`steelyard prove`).
BLOCKS = 20
_LOOKS = 4


def read_side(path: Path) -> Session | ForeignFile:
    """A session, or a file of another tool."""
    contents = sessions.contents_of(path)
    if sessions.is_session(contents):
        return sessions.decode(contents, str(path))
    return formats.read(contents, str(path))


def compare_files(a: Path, b: Path, margin: float) -> Comparisons:
    """Two sessions, or two files of other tools."""
    sides = read_side(a), read_side(b)
    match sides:
        case (Session() as first, Session() as second):
            return comparisons.compare_sessions(first, second, margin=margin)
        case (ForeignFile() as first_file, ForeignFile() as second_file):
            return comparisons.compare_files(first_file, second_file, margin=margin)
        case _:
            raise UsageError(f"{a} and {b} are of different kinds: compare two sessions or two files of one tool")


def compare_cases_of(path: Path | None, a: str, b: str, margin: float) -> Comparisons:
    """Two cases of a session; of the newest one without a path."""
    for side in (a, b):
        if "@" not in side and "[" not in side and ("." in side or side.count("/") > 1):
            raise UsageError(f"{side} is no file, and no case either")
    kept = sessions.read(path or sessions.latest())
    try:
        first, second = comparisons.find_case(kept, a), comparisons.find_case(kept, b)
    except ValueError as error:
        raise SelectionError(str(error)) from error
    return comparisons.compare_cases(kept, [(second, first, second)], (first, second), margin=margin)


# --- variants measured now --------------------------------------------------------------------------------------------


def _environment(name: str, value: str) -> Variant:
    if not name:
        raise UsageError("--vary env: takes a name: env:MALLOC_ARENA_MAX=1,4")
    return Variant(label=f"{name}={value}", environment={name: value})


def _probe_dir(_: str, value: str) -> Variant:
    folder = Path(value).resolve()
    if not folder.is_dir():
        raise UsageError(f"--vary probe-dir: {value} is no folder; it should hold <question>/<way>")
    return Variant(label=value, probes=str(folder))


def _python(_: str, value: str) -> Variant:
    return interpreter(value, "--vary python")


_KINDS: dict[str, Callable[[str, str], Variant]] = {"env": _environment, "probe-dir": _probe_dir, "python": _python}


def varied_folders(text: str) -> list[Path]:
    """The folders of probes that ``--vary`` names, if that is what it varies."""
    kind, _, listed = text.partition(":")
    return [Path(folder) for folder in listed.split(",") if Path(folder).is_dir()] if kind == "probe-dir" else []


def vary(text: str, selectors: Sequence[str], lab: Lab) -> tuple[list[Case], list[Variant], list[tuple[str, str, str]]]:
    """What ``--vary`` stands for: the cases to run, the variants, and which two cases make a pair under which name."""
    kind, colon, rest = text.partition(":")
    name, equals, listed = rest.partition("=")
    values = (listed if equals else rest).split(",")
    if not colon or len(values) != 2 or not all(values) or kind not in (*_KINDS, "param"):
        raise UsageError(
            f'--vary takes KIND:NAME=A,B with two values, not "{text}": env:NAME=1,4, param:size=64,4096, '
            "probe-dir:old,new or python:python3.11,python3.13"
        )
    if kind == "param":
        return _vary_param(name, values, selectors, lab)
    variants = [_KINDS[kind](name, value) for value in values]
    if variants[0].label == variants[1].label:  # the same thing twice is an A/A comparison
        variants = [msgspec.structs.replace(v, label=f"{v.label} ({n})") for v, n in zip(variants, "ab", strict=True)]
    if kind == "probe-dir" and not selectors:
        there = [catalog.find_programs([Path(folder)]).keys() for folder in values]
        selectors = sorted(there[0] & there[1])
        if not selectors:
            raise UsageError(f"{' and '.join(values)} have no probe in common: each should hold <question>/<way>")
    chosen = lab.select(selectors, [], [])
    if kind == "python":
        chosen = lab.in_python(chosen, "--vary python")
    cases, pairs = [], []
    for case in chosen:
        both = [msgspec.structs.replace(case, variant=variant.label) for variant in variants]
        cases += both
        pairs.append((case.name, both[0].name, both[1].name))
    return cases, variants, pairs


def labels(text: str) -> tuple[str, str]:
    """What to call the two sides of ``--vary``: ``env:NAME=1,4`` gives ``NAME=1`` and ``NAME=4``."""
    _, _, rest = text.partition(":")
    name, equals, listed = rest.rpartition("=")
    first, _, second = listed.partition(",")
    return f"{name}{equals}{first}", f"{name}{equals}{second}"


def _vary_param(
    name: str, values: Sequence[str], selectors: Sequence[str], lab: Lab
) -> tuple[list[Case], list[Variant], list[tuple[str, str, str]]]:
    cases = [case for case in lab.select(selectors, [f"{name}={','.join(values)}"], []) if name in case.parameters]
    pairs = []
    for case in cases:
        if str(case.parameters[name]) != values[0]:
            continue
        other = next(
            c
            for c in cases
            if str(c.parameters[name]) == values[1]
            and (c.probe, c.placement) == (case.probe, case.placement)
            and {k: v for k, v in c.parameters.items() if k != name}
            == {k: v for k, v in case.parameters.items() if k != name}
        )
        rest = {k: v for k, v in case.parameters.items() if k != name}
        pairs.append((msgspec.structs.replace(case, parameters=rest).name, case.name, other.name))
    return cases, [], pairs


def look_blocks(blocks: int) -> list[int]:
    """After which blocks a session that may stop early is looked at."""
    looks = {round(blocks * (number + 1) / _LOOKS) for number in range(_LOOKS)}
    return sorted(look for look in looks if look >= plan.FEWEST_BLOCKS)


class Watcher:
    """Looks at a growing session after some of its blocks, and says when every pair is decided.

    Each look spends a part of the error rate (stopping.py), so that stopping early does not raise it.
    """

    def __init__(
        self, path: Path, pairs: Sequence[tuple[str, str, str]], labels: tuple[str, str], margin: float, blocks: int
    ) -> None:
        self._path = path
        self._pairs = pairs
        self._labels = labels
        self._margin = margin
        self._planned = blocks
        self._looks = look_blocks(blocks)

    def alpha(self, blocks: int) -> float:
        """The error rate of a look after so many blocks."""
        return comparisons.alpha_at(blocks, self._looks, self._planned)

    def enough(self, block: int) -> bool:
        """Whether all pairs are decided; asked after each block."""
        if block not in self._looks or block == self._planned:
            return False
        found = self.compare(sessions.read(self._path), block)
        return bool(found.cases) and all(case.verdict != "undecided" for case in found.cases)

    def compare(self, session: Session, blocks: int) -> Comparisons:
        """The verdicts at the error rate of this look."""
        return comparisons.compare_cases(
            session, self._pairs, self._labels, margin=self._margin, alpha=self.alpha(blocks)
        )


def measure_pairs(
    lab: Lab,
    cases: Sequence[Case],
    variants: Sequence[Variant],
    pairs: Sequence[tuple[str, str, str]],
    labels: tuple[str, str],
    settings: Settings,
    margin: float,
    output: Path | None,
) -> tuple[Session, Comparisons]:
    """Measure pairs interleaved by blocks and judge them; ends early when every pair is decided."""
    settings = settings.with_blocks(BLOCKS)
    header = lab.header(cases, settings, variants)
    groups = {name: label for label, *both in pairs for name in both}
    path = output or sessions.new_path(lab.host.key)
    if settings.blocks is None:
        session = lab.measure(header, path, settings, groups=groups)
        return session, comparisons.compare_cases(session, pairs, labels, margin=margin)
    watcher = Watcher(path, pairs, labels, margin, settings.blocks)
    session = lab.measure(header, path, settings, enough=watcher.enough, groups=groups)
    return session, watcher.compare(session, session.end.blocks if session.end else settings.blocks)


def probe_folders(a: Path, b: Path) -> str | None:
    """``probe-dir:A,B`` when both are folders of probes."""
    return f"probe-dir:{os.fspath(a)},{os.fspath(b)}" if a.is_dir() and b.is_dir() else None
