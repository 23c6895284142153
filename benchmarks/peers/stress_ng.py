# SPDX-License-Identifier: Apache-2.0
"""stress-ng, where it states an operation. Its own documentation warns against using it as a precise benchmark."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.peers import Peer

_SECONDS = "1"  # whole seconds only: 0.5 is read as 0, which means for ever


def _command(stressor: str, *options: str, seconds: str = _SECONDS) -> tuple[str, ...]:
    return ("stress-ng", f"--{stressor}", "1", *options, "--timeout", seconds, "--metrics", "--yaml", "/dev/stdout")


def _inverse_of(field: str) -> Callable[[str], float]:
    return lambda printed: 1.0 / _field(printed, field)


def _field(printed: str, field: str) -> float:
    found = re.search(rf"^\s*{field}: ([0-9.]+)$", printed, flags=re.MULTILINE)
    if found is None:
        raise ValueError(f"stress-ng printed no {field}")
    return float(found[1])


def _memrate(way: str, method: str) -> Peer:
    """One of memrate's methods; it does all of them in turn, and says for each how many MiB a second."""
    return Peer(
        name=f"stress-ng --memrate, {method} of 128 MiB",
        case=f"cache/bandwidth[way={way},size=134217728]@same",
        metric="bandwidth",
        command=_command("memrate", "--memrate-bytes", "128M", seconds="2"),
        figure=lambda printed: _field(printed, f"{method}-mb-per-sec") * (1 << 20),
        same="passes over 128 MiB, 16 bytes an instruction; stress-ng's memory is on pages of 4 KiB",
        target=(0.9, 1.1),
    )


PEERS = (
    Peer(
        name="stress-ng --context",
        case="switch/swapcontext@same",
        metric="switch",
        command=_command("context"),
        figure=_inverse_of("swapcontext-calls-per-sec"),
        same="swapcontext(); stress-ng walks over three contexts and checks them",
    ),
    Peer(
        name="stress-ng --vfork",
        case="create/vfork@same",
        metric="vfork",
        command=_command("vfork"),
        figure=_inverse_of("bogo-ops-per-second-real-time"),
        same="vfork, exit and wait; stress-ng's loop counts and times each one",
    ),
    Peer(
        name="stress-ng --fork",
        case="create/fork[resident_mib=0]@same",
        metric="fork",
        command=_command("fork"),
        figure=_inverse_of("bogo-ops-per-second-real-time"),
        same="fork, exit and wait, of a larger process than ours, with calls of its own in the child",
    ),
    *(_memrate(*one) for one in (("read", "read128"), ("write", "write128"), ("write_streaming", "write128nt"))),
)
