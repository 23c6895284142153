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
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE
from steelyard.judge.stats.planning import fewest_blocks
from steelyard.keep import session as sessions
from steelyard.lab.planning import Planner, Question, blocks_with_looks, enough_blocks, look_blocks
from steelyard.lab.session import Lab, interpreter
from steelyard.measure import catalog, plan
from steelyard.records import Case, ForeignFile, Session, Variant
from steelyard.settings import Settings
from steelyard.show import formats

#: Blocks of a comparison that is measured now: 90 % power at +5 % and 2 % noise (`steelyard prove`).
BLOCKS = 20


def read_side(path: Path) -> Session | ForeignFile:
    """A session, or a file of another tool."""
    contents = sessions.contents_of(path)
    if sessions.is_session(contents):
        return sessions.decode(contents, str(path))
    return formats.read(contents, str(path))


def compare_files(a: Path, b: Path, margin: float, metric: str | None = None) -> Comparisons:
    """Two sessions, or two files of other tools."""
    sides = read_side(a), read_side(b)
    match sides:
        case (Session() as first, Session() as second):
            cases = {case.name for case in first.header.selection}
            _require(metric, comparisons.metrics_of(first, cases), f"what is compared of {a} and {b}")
            return comparisons.compare_sessions(first, second, margin=margin, metric=metric)
        case (ForeignFile() as first_file, ForeignFile() as second_file):
            if metric is not None:
                raise UsageError(f"--metric {metric}: a file of another tool has one figure a benchmark: leave it away")
            return comparisons.compare_files(first_file, second_file, margin=margin)
        case _:
            raise UsageError(f"{a} and {b} are of different kinds: compare two sessions or two files of one tool")


def compare_cases_of(path: Path | None, a: str, b: str, margin: float, metric: str | None = None) -> Comparisons:
    """Cases of a session, the newest one without a path: two, or pairs with the same parameters."""
    for side in (a, b):
        if "@" not in side and "[" not in side and ("." in side or side.count("/") > 1):
            raise UsageError(f"{side} is no file, and no case either")
    kept = sessions.read(path or sessions.latest())
    try:
        pairs, alone = comparisons.find_pairs(kept, a, b)
    except ValueError as error:
        raise SelectionError(str(error)) from error
    there = comparisons.metrics_of(kept, {name for _, *both in pairs for name in both})
    _require(metric, there, f"what is compared of {kept.path}")
    sides = (pairs[0][1], pairs[0][2]) if len(pairs) == 1 else (a, b)
    found = comparisons.compare_cases(kept, pairs, sides, margin=margin, metric=metric)
    return msgspec.structs.replace(found, left_out=(*found.left_out, *alone))


def _require(metric: str | None, there: Sequence[str], what: str) -> None:
    """Raise SelectionError unless this metric is among those that there are."""
    if metric is not None and metric not in there:
        raise SelectionError(f"--metric {metric}: {what} has {', '.join(there)}")


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


def selected(text: str, selectors: Sequence[str]) -> Sequence[str]:
    """The selectors, or else what both folders have if ``--vary`` names folders: no other probe has to be asked."""
    folders = varied_folders(text)
    if selectors or len(folders) != 2:
        return selectors
    there = [catalog.find_programs([folder]).keys() for folder in folders]
    if common := sorted(there[0] & there[1]):
        return common
    raise UsageError(f"{folders[0]} and {folders[1]} have no probe in common: each should hold <question>/<way>")


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


class Watcher:
    """Looks at a growing session after some of its blocks, and says when every pair is decided.

    Each look spends a part of the error rate (stopping.py), so that stopping early does not raise it.
    """

    def __init__(self, path: Path, blocks: int, compare: Callable[[Session, float], Comparisons]) -> None:
        self._path = path
        self._compare = compare
        self._planned = blocks
        self._looks = look_blocks(blocks)

    def enough(self, block: int) -> bool:
        """Whether all pairs are decided; asked after each block."""
        if block not in self._looks or block == self._planned:
            return False
        found = self.compare(sessions.read(self._path), block)
        return bool(found.cases) and all(case.verdict != "undecided" for case in found.cases)

    def compare(self, session: Session, blocks: int) -> Comparisons:
        """The verdicts at the error rate of this look."""
        return self._compare(session, comparisons.alpha_at(blocks, self._looks, self._planned))


def measure_pairs(
    lab: Lab,
    cases: Sequence[Case],
    variants: Sequence[Variant],
    pairs: Sequence[tuple[str, str, str]],
    labels: tuple[str, str],
    settings: Settings,
    margin: float,
    output: Path | None,
    metric: str | None = None,
) -> tuple[Session, Comparisons]:
    """Measure pairs interleaved by blocks and judge them; ends early when every pair is decided."""
    probes = {case.probe for case in cases}
    _require(metric, comparisons.metrics_before(lab.found.probes[name].descriptor for name in probes), "the selection")
    question = _question(cases, pairs, budgeted=settings.budget is not None)
    settings = enough_blocks(question, settings, len(pairs), BLOCKS, lab.messages)
    header = lab.header(cases, settings, variants)
    groups = {name: label for label, *both in pairs for name in both}
    path = output or sessions.new_path(lab.host.key)
    planner = Planner(question, settings, lab.messages)

    def compare(session: Session, alpha: float) -> Comparisons:
        return comparisons.compare_cases(session, pairs, labels, margin=margin, alpha=alpha, metric=metric)

    if settings.blocks is None:
        session = lab.measure(header, path, settings, groups=groups, planner=planner)
        return session, compare(session, 1 - VERDICT_CONFIDENCE)
    watcher = Watcher(path, settings.blocks, compare)
    session = lab.measure(header, path, settings, enough=watcher.enough, groups=groups, planner=planner)
    return session, watcher.compare(session, session.end.blocks if session.end else settings.blocks)


def _question(cases: Sequence[Case], pairs: Sequence[tuple[str, str, str]], *, budgeted: bool) -> Question:
    """The comparison of each pair; only a session with a number of blocks is looked at before its end."""
    by_first = {first: (first, second) for _, first, second in pairs}
    units = [by_first[case.name] for case in plan.most_telling_first([c for c in cases if c.name in by_first])]
    return Question(
        one="comparison",
        many="comparisons",
        units=lambda _: units,
        blocks=fewest_blocks if budgeted else blocks_with_looks,
        early=not budgeted,
    )


def probe_folders(a: Path, b: Path) -> str | None:
    """``probe-dir:A,B`` when both are folders of probes."""
    return f"probe-dir:{os.fspath(a)},{os.fspath(b)}" if a.is_dir() and b.is_dir() else None
