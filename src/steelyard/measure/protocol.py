# SPDX-License-Identifier: Apache-2.0
"""Probe protocol 1: the only file that knows what a probe's lines look like. Pure.

`docs/reference/protocol.md` is the contract for probe authors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeVar

import msgspec

from steelyard.errors import ProtocolError
from steelyard.records import HISTOGRAM_BITS, PROTOCOL, Case, Descriptor, Histogram, Meta, Scalar, Transcript, Value

SKIPPED_EXIT_CODE = 77
_QUANTITIES = {"wall", "cpu", "user", "system", "operations", "one"}
_QUOTED = 120
#: Longest title, in characters: it stands in the first column of tables and in the legends of figures.
_TITLE = 40
#: What decoding raises for bytes that are not JSON of the protocol; a probe may print anything.
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_T = TypeVar("_T")


class _MetaLine(Meta, frozen=True, kw_only=True, tag="meta", tag_field="type"):
    pass


class _ValueLine(Value, frozen=True, kw_only=True, tag="value", tag_field="type"):
    pass


class _HistogramLine(Histogram, frozen=True, kw_only=True, tag="histogram", tag_field="type"):
    pass


class _CaveatLine(msgspec.Struct, frozen=True, tag="caveat", tag_field="type"):
    text: str
    metrics: tuple[str, ...] = ()
    fault: bool = False


class _EndLine(msgspec.Struct, frozen=True, tag="end", tag_field="type"):
    values: int


_Line = _MetaLine | _ValueLine | _HistogramLine | _CaveatLine | _EndLine
_LINE = msgspec.json.Decoder(_Line)


def run_arguments(
    case: Case,
    *,
    values: int,
    deadline_s: float,
    operations: int | None = None,
    target_ns: int | None = None,
    tails_ns: int = 0,
) -> list[str]:
    """Arguments of a run with a fixed number of operations, or with a target length to find that number for.

    tails_ns: for so long operations are timed one by one as well; 0 for probes that cannot.
    """
    how_many = ["--operations", str(operations)] if operations is not None else ["--target", f"{target_ns}ns"]
    return [
        *(f"{name}={value}" for name, value in case.parameters.items()),
        *("--placement", case.placement),
        *how_many,
        *("--values", str(values)),
        *("--deadline", f"{max(1, int(deadline_s))}s"),
        *(("--tails", f"{tails_ns}ns") if tails_ns else ()),
        "--json",
    ]


def _quote(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")


def parse_descriptor(output: bytes, expected: str) -> Descriptor:
    """Read and check what ``--describe`` printed; ``expected`` is the probe's id by its place on disk.

    Raises ProtocolError with the field that is wrong.
    """
    try:
        head = msgspec.json.decode(output)
        if isinstance(head, dict) and head.get("protocol") != PROTOCOL:
            raise ProtocolError(
                f"{expected} speaks protocol {head.get('protocol')!r}; this Steelyard speaks {PROTOCOL}: rebuild it"
            )
        descriptor = msgspec.json.decode(output, type=Descriptor)
    except _UNREADABLE as error:
        raise ProtocolError(f"{expected} --describe did not print a descriptor: {error}") from error
    if descriptor.probe != expected:
        raise ProtocolError(f"{expected} --describe calls itself {descriptor.probe!r}")
    _check_descriptor(descriptor)
    return descriptor


def _check_descriptor(descriptor: Descriptor) -> None:
    def require(holds: bool, complaint: str) -> None:
        if not holds:
            raise ProtocolError(f"{descriptor.probe} --describe: {complaint}")

    require(bool(descriptor.metrics), "has no metric")
    require(bool(descriptor.placements), "has no placement")
    require(bool(descriptor.uses), "does not say what it uses")
    title = descriptor.title
    require(title is None or 0 < len(title.strip()) <= _TITLE, f"its title has not 1 to {_TITLE} characters")
    for text in ("question", "operation", "source"):
        require(bool(getattr(descriptor, text).strip()), f"{text} is empty")
    names = [metric.name for metric in descriptor.metrics]
    require(len(set(names)) == len(names), f"two metrics share a name: {', '.join(names)}")
    for parameter in descriptor.parameters:
        require(bool(parameter.sweep), f"parameter {parameter.name} has no default")
        for value in parameter.sweep:
            require(_allowed(descriptor, parameter.name, value), f"default {parameter.name}={value} is out of limits")
        unknown = ", ".join(set(parameter.curves) - set(names))
        require(not unknown, f"curves of {parameter.name} are of no metric of it: {unknown}")
        brief = set(parameter.brief) <= set(parameter.sweep)
        require(brief, f"brief values of {parameter.name} are not all in its sweep")


def _allowed(descriptor: Descriptor, name: str, value: Scalar) -> bool:
    try:
        return parse_parameter(descriptor, name, str(value)) == value
    except ValueError:
        return False


def parse_parameter(descriptor: Descriptor, name: str, text: str) -> Scalar:
    """The value of a parameter as the descriptor types it; raises ValueError saying what is allowed."""
    parameter = descriptor.parameter(name)
    if parameter is None:
        known = ", ".join(parameter.name for parameter in descriptor.parameters) or "none"
        raise ValueError(f"{descriptor.probe} has no parameter {name!r} (it has: {known})")
    if parameter.type == "choice":
        if text not in parameter.choices:
            raise ValueError(f"{descriptor.probe} {name} is one of {', '.join(parameter.choices)}, not {text!r}")
        return text
    try:
        number = int(text)
    except ValueError:
        raise ValueError(f"{descriptor.probe} {name} is an integer, not {text!r}") from None
    low, high = parameter.minimum, parameter.maximum
    if (low is not None and number < low) or (high is not None and number > high):
        raise ValueError(f"{descriptor.probe} {name} is from {low} to {high}, not {number}")
    return number


def parse_transcript(output: bytes, case: Case, descriptor: Descriptor) -> Transcript:
    """Read what a run printed. Raises ProtocolError if it is not whole: without its `end` a run has failed."""
    lines = list(_lines(output))
    metas = [line for line in lines if isinstance(line, _MetaLine)]
    values = [line for line in lines if isinstance(line, _ValueLine)]
    histograms = [line for line in lines if isinstance(line, _HistogramLine)]
    caveats = [line for line in lines if isinstance(line, _CaveatLine)]
    ends = [line for line in lines if isinstance(line, _EndLine)]
    if len(metas) > 1:
        raise ProtocolError("printed two meta lines")
    if not ends or not metas:
        raise ProtocolError(_unfinished(output, bool(ends)))
    if ends[0].values != len(values):
        raise ProtocolError(f"announced {ends[0].values} values at its end and printed {len(values)}")
    _check_meta(metas[0], case)
    for value in values:
        _check_value(value, descriptor)
    for histogram in histograms:
        _check_histogram(histogram)
    names = {metric.name for metric in descriptor.metrics}
    if unknown := [name for caveat in caveats for name in caveat.metrics if name not in names]:
        raise ProtocolError(f"printed a caveat about {unknown[0]}, and it has no metric of that name")
    return Transcript(
        meta=_plain(metas[0], Meta),
        values=tuple(_plain(v, Value) for v in values),
        caveats=tuple(caveat.text for caveat in caveats),
        caveat_metrics={caveat.text: caveat.metrics for caveat in caveats if caveat.metrics},
        faults=tuple(caveat.text for caveat in caveats if caveat.fault),
        histograms=tuple(_plain(histogram, Histogram) for histogram in histograms),
    )


def _lines(output: bytes) -> Iterator[_Line]:
    """The lines in order; raises ProtocolError on what is none, and on more after the end."""
    ended = False
    for line in output.splitlines():
        if ended:
            raise ProtocolError(f"printed {_quote(line)} after its end line")
        try:
            record = _LINE.decode(line)
        except _UNREADABLE as error:
            raise ProtocolError(
                f"printed {_quote(line)}, which is not a line of protocol {PROTOCOL} ({error})"
            ) from error
        yield record
        ended = isinstance(record, _EndLine)


def _unfinished(output: bytes, ended: bool) -> str:
    if not output.strip():
        return "printed nothing"
    return "printed no meta line" if ended else "stopped before its end line"


def _plain(record: msgspec.Struct, kind: type[_T]) -> _T:
    """The stored record without the wire's tag."""
    return kind(**{name: getattr(record, name) for name in record.__struct_fields__})


def _check_meta(meta: Meta, case: Case) -> None:
    if meta.protocol != PROTOCOL:
        raise ProtocolError(f"speaks protocol {meta.protocol}, not {PROTOCOL}")
    if (meta.probe, meta.placement) != (case.probe, case.placement) or meta.parameters != case.parameters:
        said = Case(probe=meta.probe, parameters=meta.parameters, placement=meta.placement).name
        raise ProtocolError(f"was asked for {case.name} and says that it ran {said}")


def _check_value(value: Value, descriptor: Descriptor) -> None:
    checked = value.counts.get("checked")
    if checked != value.operations:
        raise ProtocolError(f"timed {value.operations} operations and proved {checked}")
    for metric in descriptor.metrics:
        for name in (metric.over, metric.per):
            if name not in _QUANTITIES and value.quantity(name) is None:
                raise ProtocolError(f"metric {metric.name} needs {name}, which a value does not report")


def _check_histogram(histogram: Histogram) -> None:
    least = [number for number, _ in histogram.buckets]
    if least != sorted(set(least)):
        raise ProtocolError(f"printed buckets of {histogram.name} that do not rise")
    for number in least:
        beyond = max(0, number.bit_length() - HISTOGRAM_BITS)
        if number >> beyond << beyond != number:
            raise ProtocolError(f"printed a bucket of {histogram.name} that begins with {number}, as none does")


def describe_exit(
    code: int | None, signal: int | None, stderr: bytes
) -> tuple[Literal["ok", "failed", "skipped"], str]:
    """What an exit means, with the probe's last words on standard error as the reason."""
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    last_words = lines[-1].strip()[:400] if lines else ""
    if signal is not None:
        return "failed", f"was ended by signal {signal}" + (f": {last_words}" if last_words else "")
    if code == SKIPPED_EXIT_CODE:
        return "skipped", last_words or "the probe gives no reason"
    if code != 0:
        return "failed", f"exited with code {code}" + (f": {last_words}" if last_words else " and gave no reason")
    return "ok", last_words
