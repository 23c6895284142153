# SPDX-License-Identifier: Apache-2.0
"""Sessions for notebooks: what the commands say, as data frames and charts. `steelyard.load` is the way in."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from steelyard import no_libraries
from steelyard.errors import InstallationError, SelectionError, SessionFileError, UsageError
from steelyard.judge import comparisons
from steelyard.judge.cases import CaseFinding
from steelyard.judge.findings import Findings, judge
from steelyard.judge.history import cases_like, history, past
from steelyard.judge.report import report
from steelyard.judge.samples import case_runs, numbers
from steelyard.keep import folder
from steelyard.records import Case, Scalar, Session
from steelyard.show import reasons
from steelyard.show.visible import visible

if TYPE_CHECKING:
    import altair

Frames = Literal["pandas", "polars", "pyarrow"]
_LIBRARIES: tuple[Frames, ...] = ("pandas", "polars", "pyarrow")

Row = dict[str, Any]
#: What a column of a row holds; whole numbers that may be missing are floats, as every library can have them.
_KINDS: dict[str, type] = {
    "session": int,
    "started": str,
    "machine_key": str,
    "case": str,
    "probe": str,
    "placement": str,
    "variant": str,
    "control": bool,
    "block": int,
    "metric": str,
    "unit": str,
    "better": str,
    "number": float,
    "disturbed": bool,
    "n": int,
    "median": float,
    "low": float,
    "high": float,
    "minimum": float,
    "p25": float,
    "p99": float,
    "net": float,
    "net_low": float,
    "net_high": float,
    "net_at_most": bool,
    "caveats": str,
    "void": str,
    "a": float,
    "b": float,
    "ratio": float,
    "verdict": str,
    "worse": bool,
    "margin": float,
    "machine": str,
    "file": str,
    "level": float,
    "change": bool,
    "differences": str,
}
_METRIC = ("metric", "unit", "better")
_RUNS = ("session", "started", "machine_key", "case", "probe", "placement", "variant", "control", "block")
_SUMMARY = (*_RUNS[:8], *_METRIC, "n", "median", "low", "high", "minimum", "p25", "p99")
_NET = ("net", "net_low", "net_high", "net_at_most")
_COMPARISON = ("case", *_METRIC, "a", "b", "n", "ratio", "low", "high", "verdict", "worse", "margin", "void")
_HISTORY = ("machine_key", "machine", "started", "file", "case", *_METRIC, "n", "median", "low", "high", "level")


def load_places(places: Sequence[str | PathLike[str]], frames: Frames | None) -> Loaded:
    """What `steelyard.load` gives."""
    library = _library(frames)
    paths = folder.find([str(place) for place in places])
    complaints: list[str] = []
    sessions = tuple(folder.readable(paths, complaints.append))
    for complaint in complaints:
        warnings.warn(visible(f"left out: {complaint}"), stacklevel=3)
    if not sessions:
        raise SessionFileError(f"none of the {len(paths)} session files can be read: {complaints[0]}")
    return Loaded(sessions=sessions, complaints=tuple(complaints), library=library)


def _library(asked: Frames | None) -> Frames:
    """The library of the frames that was asked for, or the first that is installed."""
    if asked is not None and asked not in _LIBRARIES:
        raise UsageError(f'frames is one of {", ".join(_LIBRARIES)}, not "{asked}"')
    for name in _LIBRARIES if asked is None else (asked,):
        if find_spec(name) is not None and find_spec("narwhals") is not None:
            return name
    wanted = asked or "pandas, polars or pyarrow"
    raise InstallationError(f"data frames need {wanted}, which is not installed: pip install 'steelyard[frames]'")


@dataclass(frozen=True)
class Loaded:
    """Sessions as they were read. Figures are in base units: seconds, bytes, bytes per second.

    Every frame is one of ``library``. ``complaints`` name the files that could not be used. Sessions are numbered from
    0, in the order of the files' names.
    """

    sessions: tuple[Session, ...]
    complaints: tuple[str, ...] = ()
    library: Frames = "pandas"

    def __repr__(self) -> str:
        """One line, however much was loaded: a notebook prints this."""
        runs = sum(len(session.runs) for session in self.sessions)
        left_out = len(self.complaints)
        return f"<{len(self.sessions)} sessions with {runs} runs, {left_out} files left out, for {self.library}>"

    @cached_property
    def findings(self) -> tuple[Findings, ...]:
        """Each session judged: all that may be said of it."""
        return tuple(judge(session) for session in self.sessions)

    def runs(self) -> Any:
        """A frame with a row a block and case: the number that stands for its run, of the main metric.

        A column for each parameter stands at the end. Never pool the runs of several blocks with others: compare them
        block by block, which `comparison` does.
        """
        rows = []
        for number, session in enumerate(self.sessions):
            for runs in case_runs(session):
                metric = runs.descriptor.metrics[0]
                what = {
                    **_of_case(number, session, runs.planned.case),
                    "control": runs.planned.control,
                    "metric": metric.name,
                    "unit": metric.unit,
                    "better": metric.better,
                }
                for block, (run, figure) in enumerate(zip(runs.runs, runs.sample(metric).tolist(), strict=True), 1):
                    if run is not None and math.isfinite(figure):
                        rows.append({**what, "block": block, "number": figure, "disturbed": bool(run.disturbed)})
        return self._frame((*_RUNS, *_METRIC, "number", "disturbed"), rows)

    def summary(self) -> Any:
        """A frame with a row a session and case: the median of the main metric with its 95 % interval.

        ``low`` and ``high`` are missing below six runs. ``net`` is the cost less its overhead; where ``net_at_most``
        is true it can't be told from zero, and only ``net_high`` may be said. ``void`` says why a session must not be
        used. A column for each parameter stands at the end.
        """
        rows = []
        for number, (session, findings) in enumerate(zip(self.sessions, self.findings, strict=True)):
            cases = {planned.case.name: planned.case for planned in session.plan.cases} if session.plan else {}
            for found in findings.cases:
                row = {
                    **_of_case(number, session, cases[found.case]),
                    **_figures(found),
                    "void": reasons.said_if(findings.void),
                }
                rows.append(row)
        return self._frame((*_SUMMARY, *_NET, "caveats", "void"), rows)

    def comparison(self, a: str | int = 0, b: str | int = 1, *, session: int = 0, margin: float = 0.02) -> Any:
        """A frame with a row a case: the ratio b/a with its interval and the verdict of three.

        Two numbers are sessions and compare all cases that both have; two texts are cases of one ``session`` and are
        compared block by block. All verdicts of a frame hold together. Raises SelectionError for what is not there.
        """
        if isinstance(a, int) and isinstance(b, int):
            found = comparisons.compare_sessions(self._session(a), self._session(b), margin=margin)
        elif isinstance(a, str) and isinstance(b, str):
            kept = self._session(session)
            try:
                first, second = comparisons.find_case(kept, a), comparisons.find_case(kept, b)
            except ValueError as error:
                raise SelectionError(str(error)) from error
            pairs = [(second, first, second)]
            found = comparisons.compare_cases(kept, pairs, (first, second), margin=margin)
        else:
            raise UsageError("compare two sessions by their numbers, or two cases of a session by their names")
        rows = [
            {
                **{name: getattr(case, name) for name in _COMPARISON[:-2]},
                "margin": margin,
                "void": reasons.said_if(found.void),
            }
            for case in found.cases
        ]
        return self._frame(_COMPARISON, rows)

    def history(self, case: str, *, margin: float = 0.02) -> Any:
        """A frame with a row a session, by machine and oldest first: the case's median and the level it belongs to.

        ``change`` is true where a new level begins; ``differences`` then says what the headers on both sides say
        differently. Raises SelectionError unless ``case`` stands for one case.
        """
        pasts = [one for session in self.sessions for name in cases_like(session, case) if (one := past(session, name))]
        names = sorted({one.case for one in pasts})
        if len(names) != 1:
            raise SelectionError(f'"{case}" stands for {len(names)} cases of these sessions: name one')
        rows = []
        for series in history(names[0], pasts, margin).series:
            changed = {change.index: change for change in series.change_points}
            level = series.change_points[0].before if series.change_points else None
            for number, one in enumerate(series.sessions):
                change = changed.get(number)
                level = change.after if change else level
                differences = change.differences if change else ()
                said = "; ".join(f"{item.what}: {item.before} → {item.after}" for item in differences)
                row = {name: getattr(one, name) for name in _HISTORY if name not in ("file", "level")}
                row |= {"file": one.path, "level": level, "change": change is not None, "differences": said}
                rows.append({**row, "void": reasons.said_if(one.void)})
        return self._frame((*_HISTORY, "change", "differences", "void"), rows)

    def query(self, sql: str) -> Any:
        """The answer to one SELECT over the views of `steelyard query`, as a frame."""
        with no_libraries.named():
            from steelyard.keep import query
        paths = [Path(session.path) for session in self.sessions]

        def complain(sentence: str) -> None:
            warnings.warn(visible(f"left out: {sentence}"), stacklevel=2)

        with query.open_sessions(paths, numbers, complain) as sessions:
            answer = sessions.ask(sql)
        columns = list(zip(*answer.rows, strict=True)) or [() for _ in answer.columns]
        return self._native({name: list(items) for name, items in zip(answer.columns, columns, strict=True)})

    def charts(self, session: int = 0) -> dict[str, altair.TopLevelMixin]:
        """The figures of a session's report by name, as Altair charts."""
        with no_libraries.named():
            import altair

            from steelyard.show import charts
        made = report([self._session(session)])
        return {name: altair.Chart.from_dict(spec) for name, spec in charts.files(made).items()}

    def _session(self, number: int) -> Session:
        if not 0 <= number < len(self.sessions):
            raise SelectionError(f"there is no session {number}: they are numbered from 0 to {len(self.sessions) - 1}")
        return self.sessions[number]

    def _frame(self, names: Sequence[str], rows: Sequence[Row]) -> Any:
        """A frame of these columns, then of a column for each parameter."""
        import narwhals as nw

        dtypes = {int: nw.Int64, float: nw.Float64, str: nw.String, bool: nw.Boolean}
        schema: dict[str, Any] = {name: dtypes[_KINDS[name]] for name in names}
        columns: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in names}
        for name, whole in _parameters(rows).items():
            column = name if name not in schema else f"parameter_{name}"
            found = [row.get("parameters", {}).get(name) for row in rows]
            columns[column] = found if whole else [None if item is None else str(item) for item in found]
            schema[column] = nw.Float64 if whole else nw.String
        for name, dtype in schema.items():
            if dtype is nw.Float64:
                columns[name] = [None if item is None else float(item) for item in columns[name]]
        return nw.from_dict(columns, schema, backend=self.library).to_native()

    def _native(self, columns: dict[str, list[Any]]) -> Any:
        import narwhals as nw

        return nw.from_dict(columns, backend=self.library).to_native()


def _of_case(number: int, session: Session, case: Case) -> Row:
    return {
        "session": number,
        "started": session.header.started,
        "machine_key": session.header.machine.key,
        "case": case.name,
        "probe": case.probe,
        "placement": case.placement,
        "variant": case.variant,
        "parameters": case.parameters,
    }


def _figures(found: CaseFinding) -> Row:
    main = found.main
    net = main.net
    return {
        "control": found.control,
        **{name: getattr(main, name) for name in (*_METRIC, "n", "median", "low", "high", "minimum", "p25", "p99")},
        "net": net.median if net else None,
        "net_low": net.low if net else None,
        "net_high": net.high if net else None,
        "net_at_most": bool(net and net.at_most),
        "caveats": "; ".join(map(reasons.said, found.caveats)),
    }


def _parameters(rows: Iterable[Row]) -> dict[str, bool]:
    """Every parameter of these rows, and whether it is a whole number wherever it occurs."""
    found: dict[str, bool] = {}
    for row in rows:
        parameters: dict[str, Scalar] = row.get("parameters", {})
        for name, value in parameters.items():
            found[name] = found.get(name, True) and isinstance(value, int)
    return found
