# SPDX-License-Identifier: Apache-2.0
"""likwid-bench, whose kernels are written in assembly: a second method for cache/bandwidth.

It counts a copy's bytes as they are read and as they are written; ours counts them once. Its memory is of malloc, which
is asked for huge pages here as ours has them. Its clock is the time stamp counter by the rate that likwid finds for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.peers import Peer

_HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
#: Bytes of the working set, and what of them is read or written in one run.
_VOLUMES = {16_384: 8 << 30, 1_048_576: 4 << 30, 134_217_728: 2 << 30}
#: Its kernels of 16 bytes an instruction, by what is done; and how often each counts a byte.
_KERNELS = {
    "read": ("load_sse", 1),
    "write": ("store_sse", 1),
    "write_streaming": ("store_mem_sse", 1),
    "copy": ("copy_sse", 2),
    "copy_streaming": ("copy_mem_sse", 2),
}


def _bytes_a_second(counted: int) -> Callable[[str], float]:
    def read(printed: str) -> float:
        found = re.search(r"^MByte/s:\s+([\d.]+)$", printed, flags=re.MULTILINE)
        if found is None:
            raise ValueError("likwid-bench printed no MByte/s")
        return float(found[1]) * 1e6 / counted

    return read


def _peer(way: str, size: int) -> Peer:
    kernel, counted = _KERNELS[way]
    passes = _VOLUMES[size] // size
    return Peer(
        name=f"likwid-bench {kernel}, {size} B",
        case=f"cache/bandwidth[way={way},size={size}]@same",
        metric="bandwidth",
        command=("likwid-bench", "-t", kernel, "-i", str(passes), "-W", f"N:{size}B:1"),
        environment=_HUGE_PAGES,
        figure=_bytes_a_second(counted),
        same="passes over one working set, 16 bytes an instruction; the mean of all passes, the first with them",
        target=(0.9, 1.1),
    )


PEERS = tuple(
    _peer(way, size)
    for way in _KERNELS
    for size in _VOLUMES
    # Past the caches there is no difference between small and large but what the store before has left behind.
    if size == max(_VOLUMES) or not way.endswith("_streaming")
)
