# SPDX-License-Identifier: Apache-2.0
"""sysbench memory: 8 bytes an instruction, one turn of a loop for each.

Where memory is what limits, that is a second method for cache/bandwidth; in the caches it measures the loop, and is
left out. At random it draws each address from its generator, and the loads do not wait for each other: not what
cache/latency measures, and near what cache/record does.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.peers import Peer

_HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
_WORD = 8


def _command(operation: str, mode: str, mebibytes: int, total: int) -> tuple[str, ...]:
    """``total``: MiB that are transferred in one run, over and over in the same ``mebibytes``."""
    return (
        *("sysbench", "memory", "--threads=1", f"--memory-block-size={mebibytes}M", f"--memory-total-size={total}M"),
        *(f"--memory-oper={operation}", f"--memory-access-mode={mode}", "run"),
    )


def _bytes_a_second(printed: str) -> float:
    found = re.search(r"\(([\d.]+) MiB/sec\)", printed)
    if found is None:
        raise ValueError("sysbench printed no MiB/sec")
    return float(found[1]) * (1 << 20)


def _sequential(operation: str) -> Peer:
    return Peer(
        name=f"sysbench memory, {operation} 128 MiB",
        case=f"cache/bandwidth[way={operation},size=134217728]@same",
        metric="bandwidth",
        command=_command(operation, "seq", 128, 4096),
        environment=_HUGE_PAGES,
        figure=_bytes_a_second,
        same="passes over 128 MiB, 8 bytes an instruction in sysbench; the mean of 32 passes",
        target=(0.9, 1.1),
    )


def _seconds_a_word(read: Callable[[str], float]) -> Callable[[str], float]:
    return lambda printed: _WORD / read(printed)


PEERS = (
    *(_sequential(operation) for operation in ("read", "write")),
    Peer(
        name="sysbench memory, random read of 64 MiB",
        case="cache/record[layout=64_aligned,order=random,log2_records=20]@same",
        metric="visit",
        command=_command("read", "rnd", 64, 128),
        environment=_HUGE_PAGES,
        figure=_seconds_a_word(_bytes_a_second),
        same="loads at random that do not wait for each other; each address from a generator of its own kind",
    ),
)
