# SPDX-License-Identifier: Apache-2.0
"""Parse and print quantities; everything that is kept is in base units (s, B, B/s, 1/s, 1)."""

from __future__ import annotations

import math
import re

from steelyard.errors import UsageError

_DURATIONS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_SMALLEST = {"s": 1e-9, "B": 1.0, "B/s": 1.0, "1/s": 1.0, "J": 1e-9, "W": 1e-3}


def parse_duration(text: str) -> float:
    """Seconds in a text such as ``90s``, ``3m``, ``1.5h``, ``1h30m`` or ``10ms``; raises UsageError."""
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([a-z]+)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UsageError(f'"{text}" is not a duration: write a number and a unit, such as 90s, 3m or 1h30m')
    for _, unit in parts:
        if unit not in _DURATIONS:
            raise UsageError(f'"{unit}" in "{text}" is not a unit of time: use {", ".join(_DURATIONS)}')
    seconds = math.fsum(float(number) * _DURATIONS[unit] for number, unit in parts)
    if seconds <= 0:
        raise UsageError(f'"{text}" is no time at all: give a duration above zero')
    return seconds


def parse_bytes(text: str) -> int:
    """Bytes in a text such as ``200``, ``64KiB`` or ``1kB``; raises UsageError."""
    match = re.fullmatch(r"([0-9]+)\s*(B|kB|MB|GB|KiB|MiB|GiB)?", text)
    if match is None or int(match[1]) == 0:
        raise UsageError(f'"{text}" is not a size: write a number of bytes above zero, such as 200, 64KiB or 1kB')
    unit = match[2] or "B"
    power = "BKMG".index(unit[0].upper())
    return int(match[1]) * int((1024 if "i" in unit else 1000) ** power)


def parse_rate(text: str) -> float:
    """How often a second, from a text such as ``50k/s``, ``800/s`` or ``1.5M``; raises UsageError."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(k|M|G)?(?:/s)?", text)
    if match is None or float(match[1]) == 0:
        raise UsageError(f'"{text}" is not a rate: write a number above zero a second, such as 800/s or 50k/s')
    return float(match[1]) * 1000.0 ** ("kMG".find(match[2] or " ") + 1)


def format_duration(seconds: float) -> str:
    """A length of time for people, from ``0.3 s`` over ``2 min 05 s`` to ``1 h 02 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def format_change(ratio: float) -> str:
    """A ratio as a change: ``+5.0 %``."""
    return f"{100 * (ratio - 1):+.1f} %".replace("-", "−")


def counted(number: int, one: str, several: str = "") -> str:
    """A number with what it counts: ``1 block``, ``6 blocks``; ``several`` where an s at the end will not do."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"


def _digits(value: float) -> str:
    """Three significant digits; 999.7 becomes 1000, never 1e+03."""
    magnitude = abs(value)
    if magnitude >= 99.95 or value == 0:
        return f"{value:.0f}"
    if magnitude >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if magnitude >= 0.0995 else f"{value:.2g}"


def _printed(unit: str) -> str:
    """A unit without its leading one: ``/s``, and nothing at all of ``1``."""
    return unit.removeprefix("1")


def prefix_for(value: float, unit: str) -> tuple[float, str]:
    """Factor and printed unit in which ``value`` (in base units) reads well: (1e-9, "ns") for 3e-8 s."""
    if unit not in _SMALLEST or value == 0 or not math.isfinite(value):
        return 1.0, _printed(unit)
    # The limit is 0.9995 so that 999.7 ns prints as 1.00 µs.
    for factor, prefix in _PREFIXES:
        if factor < _SMALLEST[unit]:
            break
        if unit == "s" and factor > 1:
            continue
        if abs(value) >= 0.9995 * factor:
            return factor, prefix + _printed(unit)
    smallest = _SMALLEST[unit]
    return smallest, next(prefix for factor, prefix in _PREFIXES if factor == smallest) + _printed(unit)


def format_quantity(value: float, unit: str) -> str:
    """A value in base units for people: ``format_quantity(3.1e-8, "s") == "31.0 ns"``."""
    if not math.isfinite(value):
        return "–"
    factor, printed = prefix_for(value, unit)
    return f"{_digits(value / factor)} {printed}".rstrip()


def format_bytes(size: float) -> str:
    """Bytes as caches and pages are counted: ``format_bytes(32768) == "32 KiB"``."""
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.3g} B"


def format_interval(low: float | None, high: float | None, like: float, unit: str, unknown: str = "") -> str:
    """``[30.1, 31.9]`` in the unit in which ``like`` is printed, so that both can be read together.

    ``unknown`` where neither end is known; a dash for one that is not.
    """
    if low is None and high is None:
        return unknown
    factor, _ = prefix_for(like, unit)
    ends = ("–" if end is None or not math.isfinite(end) else _digits(end / factor) for end in (low, high))
    return f"[{', '.join(ends)}]"
