# SPDX-License-Identifier: Apache-2.0
"""`steelyard check`: whether a change may be merged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console

from steelyard.cli import _output as output
from steelyard.cli._comparing import (
    compare_files,
    labels,
    measure_pairs,
    parse_margin,
    probe_folders,
    read_side,
    varied_folders,
    vary,
)
from steelyard.cli._session import Lab, Settings
from steelyard.errors import SteelyardError, UsageError
from steelyard.judge import comparisons
from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.records import Session
from steelyard.show import comparison, formats

_PASSED, _WORSE, _UNDECIDED = 0, 1, 2


def command(
    base: Path,
    new: Path,
    *selectors: str,
    margin: str = "5%",
    undecided: Literal["2", "pass", "fail"] = "2",
    blocks: int | None = None,
    seed: int | None = None,
    deadline: str = "60s",
    junit: Path | None = None,
    markdown: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Say by the exit code whether NEW is worse than BASE: 0 no, 1 worse, 2 undecided or void.

    A suspected regression is measured again before it is reported.

    Parameters
    ----------
    base
        A folder of probes (measured now, interleaved with NEW), a session, or a file of another tool.
    new
        The same kind as BASE.
    selectors
        With two folders: what to measure, as in ``steelyard run``.
    margin
        How much worse is still good enough.
    undecided
        What an undecided verdict means: exit code 2, or ``pass`` (0), or ``fail`` (1).
    blocks
        Most blocks to measure; it ends early when all is decided. Default 20.
    seed
        Seed of the order of runs.
    deadline
        Longest that one run may take.
    junit
        Write a JUnit report here.
    markdown
        Write a Markdown table for a comment here.
    json
        Print one object a case.
    """
    share = parse_margin(margin)
    settings = Settings(blocks=blocks, seed=seed, deadline=deadline)
    folders = probe_folders(base, new)
    if folders is not None:
        found = _measure(folders, selectors, settings, share)
    elif selectors:
        raise UsageError("selectors go with two folders of probes; files are compared by all cases that they share")
    else:
        found = _read(base, new, settings, share)
    for path, name in ((junit, "junit"), (markdown, "markdown")):
        if path is not None:
            _write(path, formats.modules()[name].comparisons(found))
    if json:
        output.print_json(comparison.as_json(found))
    else:
        comparison.show(found, output.console())
    return _exit_code(found, undecided)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _exit_code(found: Comparisons, undecided: str) -> int:
    if found.void is None and any(case.worse for case in found.cases):
        return _WORSE
    if found.void is not None or not found.cases or any(case.verdict == "undecided" for case in found.cases):
        return {"2": _UNDECIDED, "pass": _PASSED, "fail": _WORSE}[undecided]
    return _PASSED


def _measure(folders: str, selectors: tuple[str, ...], settings: Settings, margin: float) -> Comparisons:
    """Both folders now; what looks worse once more, in a session of its own."""
    lab = Lab(varied_folders(folders))
    cases, variants, pairs = vary(folders, selectors, lab)
    sides = labels(folders)
    _, first = measure_pairs(lab, cases, variants, pairs, sides, settings, margin, None)
    suspects = {case.case for case in first.cases if case.worse}
    if not suspects or first.void:
        return first
    _say(f"{len(suspects)} suspected to be worse; measuring again before saying so")
    again = [pair for pair in pairs if pair[0] in suspects]
    wanted = {name for pair in again for name in pair[1:]}
    kept = [case for case in cases if case.name in wanted]
    _, second = measure_pairs(lab, kept, variants, again, sides, settings, margin, None)
    return confirm(first, second)


def _read(base: Path, new: Path, settings: Settings, margin: float) -> Comparisons:
    """Two files; what looks worse is measured again if this is the machine and these are the probes of NEW."""
    first = compare_files(base, new, margin)
    suspects = [case.case for case in first.cases if case.worse]
    if not suspects or first.void or first.kind == "files":
        return first
    sides = read_side(base), read_side(new)
    if not (isinstance(sides[0], Session) and isinstance(sides[1], Session)):
        return first
    lab = Lab()
    reason = _why_not_again(lab, sides[1])
    if reason is not None:
        caveat = f"what is worse could not be measured again: {reason}"
        return msgspec.structs.replace(first, caveats=(*first.caveats, caveat))
    _say(f"{len(suspects)} suspected to be worse; measuring again before saying so")
    selection = [case for case in sides[1].header.selection if case.name in suspects]
    header = lab.header(selection, Settings(blocks=settings.blocks or 20, seed=settings.seed))
    measured = lab.measure(header, None, deadline=settings.deadline)
    return confirm(first, comparisons.compare_sessions(sides[0], measured, margin=margin))


def _why_not_again(lab: Lab, new: Session) -> str | None:
    if new.header.machine.key != lab.host.key:
        return f"NEW is of machine {new.header.machine.key} and this is {lab.host.key}"
    if new.header.variants:
        return "NEW was measured with variants"
    for name, facts in new.header.probes.items():
        if name not in lab.found.probes or lab.found.probes[name].facts().sha256 != facts.sha256:
            return f"probe {name} is not the program that NEW was measured with"
    return None


def confirm(first: Comparisons, second: Comparisons) -> Comparisons:
    """The first verdicts, but what was worse counts only if it was worse again; else it is undecided."""
    if second.void is not None:
        raise SteelyardError(f"the repetition is void ({second.void}): run the check again on a quieter machine")
    again = {case.case: case for case in second.cases}

    def confirmed(case: Compared) -> Compared:
        repeated = again.get(case.case)
        if not case.worse or (repeated is not None and repeated.worse):
            return case
        return msgspec.structs.replace(case, worse=False, verdict="undecided")

    gone = [case.case for case in first.cases if case.worse and not confirmed(case).worse]
    caveats = tuple(f"{name}: looked worse once and not again: undecided" for name in gone)
    cases = tuple(confirmed(case) for case in first.cases)
    return msgspec.structs.replace(first, cases=cases, caveats=(*first.caveats, *caveats))


def _say(words: str) -> None:
    Console(stderr=True, highlight=False).print(words, markup=False)
