# SPDX-License-Identifier: Apache-2.0
"""will-it-scale, which counts what tasks do in a second: a second method for scale/.

Its programs have names such as page_fault1_threads and are looked for in PATH. They warm up for six seconds before the
one that counts, so a round takes long. Neither its tasks nor ours wait for each other; ours look at each result, too.
"""

from __future__ import annotations

import os
import re

from benchmarks.peers import Peer

_KINDS = {"thread": "threads", "process": "processes"}
#: Ours, by the name of theirs.
PROGRAMS = {
    "getppid1": "scale/system_call[{settings}]",
    "page_fault1": "scale/page_fault[{settings},mib=128]",
    "mmap1": "scale/map[{settings}]",
    "open1": "scale/open[{settings},file=own]",
    "open3": "scale/open[{settings},file=same]",
    "pipe1": "scale/pipe[{settings}]",
    "futex1": "scale/futex[{settings}]",
    "malloc2": "scale/allocate[{settings},by=libc,size=1024]",
}


def _a_second(printed: str) -> float:
    found = re.search(r"^average:(\d+)$", printed, flags=re.MULTILINE)
    if found is None:
        raise ValueError("will-it-scale printed no average")
    return float(found[1])


def _peer(name: str, case: str, kind: str, contexts: int) -> Peer:
    settings = f"contexts={contexts},kind={kind},pinned=cores"
    return Peer(
        name=f"will-it-scale {name}, {contexts} {_KINDS[kind]}",
        case=f"{case.format(settings=settings)}@free",
        metric="throughput",
        command=(f"{name}_{_KINDS[kind]}", "-t", str(contexts), "-s", "1"),
        figure=_a_second,
        same="the same calls by tasks that never wait for each other, pinned to a core each; ours look at each result",
        target=(0.9, 1.1),
    )


PEERS = tuple(
    _peer(name, case, kind, contexts)
    for name, case in PROGRAMS.items()
    for kind in _KINDS
    for contexts in sorted({1, len(os.sched_getaffinity(0))})
)
