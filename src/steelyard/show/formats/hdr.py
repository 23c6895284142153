# SPDX-License-Identifier: Apache-2.0
"""HdrHistogram log (V2): how often each length was met, for the plotters and mergers of HdrHistogram.

One line a run that counts, tagged with its case, and nothing is merged: a run is a process. Times are in nanoseconds,
with two significant digits, which is how probes count them. Only what a probe timed one by one has a histogram
(``wake/*``, and others in a session with ``--tails``); other cases are left out, as are all figures.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections import Counter
from datetime import datetime

from steelyard.judge.ledger import CaseEntry, Ledger
from steelyard.records import Histogram
from steelyard.show import void
from steelyard.show.visible import visible

#: HdrHistogram's marks of its second encoding, and of the same compressed; words of up to 9 bytes (LEB128, ZigZag).
_COOKIE, _COMPRESSED = 0x1C849313, 0x1C849314
_DIGITS, _HALF_BITS = 2, 7
_LEAST, _MOST = 1, 2**63 - 1
_NS_PER_S = 1e9


def why_not(entry: CaseEntry) -> str | None:
    """Why this case can't be written."""
    times = any(histogram.unit == "s" for run in entry.runs for histogram in run.histograms)
    return None if times else "its probe keeps no histogram of times"


def export(ledger: Ledger) -> str:
    """The log."""
    begun = datetime.fromisoformat(ledger.findings.started)
    lines = [
        "#[Histogram log format version 1.3]",
        f"#[Written by steelyard {ledger.version} from session {ledger.id}]",
        f"#[StartTime: {begun.timestamp():.3f} (seconds since epoch), {begun.isoformat()}]",
        *([f"#[{visible(void.said(ledger.findings.void))}]"] if ledger.findings.void else []),
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    for entry in ledger.cases:
        for run in entry.runs:
            since_s = max(0.0, run.started - begun.timestamp())
            for histogram in run.histograms:
                if histogram.unit == "s":
                    counts = _counts(histogram)
                    tag = _tag(f"{entry.case.name} {histogram.name}")
                    most_ms = max(counts, default=0) / 1e6
                    encoded = _encoded(counts)
                    lines.append(f"Tag={tag},{since_s:.3f},{run.duration_s:.3f},{most_ms:.3f},{encoded}")
    return "\n".join(lines) + "\n"


def _tag(name: str) -> str:
    """A name as a tag, which ends at a comma, a blank or the end of its line."""
    return "".join(";" if letter == "," else "_" if letter.isspace() else letter for letter in visible(name))


def _counts(histogram: Histogram) -> Counter[int]:
    """How often each number of nanoseconds was met, as the least of its bucket."""
    found: Counter[int] = Counter()
    for number, times in histogram.buckets:
        found[min(_MOST, round(number * histogram.scale * _NS_PER_S))] += times
    return found


def _index(number: int) -> int:
    """The place of a number among HdrHistogram's counts."""
    shift = max(0, number.bit_length() - _HALF_BITS - 1)
    return (shift << _HALF_BITS) + (number >> shift)


def _encoded(counts: Counter[int]) -> str:
    """Counts as one word: their differences of place as runs of zeros, compressed, in base64."""
    by_index: Counter[int] = Counter()
    for number, times in counts.items():
        by_index[_index(number)] += times
    words, next_index = bytearray(), 0
    for index in sorted(by_index):
        if index > next_index:
            words += _zigzag(next_index - index)
        words += _zigzag(by_index[index])
        next_index = index + 1
    head = struct.pack(">iiiiqqd", _COOKIE, len(words), 0, _DIGITS, _LEAST, _MOST, 1.0)
    packed = zlib.compress(head + bytes(words), 9)
    return base64.b64encode(struct.pack(">ii", _COMPRESSED, len(packed)) + packed).decode()


def _zigzag(number: int) -> bytes:
    """A signed number in seven bits a byte, the last of nine in eight; a negative one is a run of zeros."""
    left = (number << 1) ^ (number >> 63)
    left &= 2**64 - 1
    word = bytearray()
    while left > 0x7F and len(word) < 8:
        word.append(left & 0x7F | 0x80)
        left >>= 7
    word.append(left & 0xFF)
    return bytes(word)
