# SPDX-License-Identifier: Apache-2.0
"""stress-ng, where it states an operation. Its own documentation warns against using it as a precise benchmark."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.peers import Peer

_SECONDS = "1"  # whole seconds only: 0.5 is read as 0, which means for ever


def _command(stressor: str) -> tuple[str, ...]:
    return ("stress-ng", f"--{stressor}", "1", "--timeout", _SECONDS, "--metrics", "--yaml", "/dev/stdout")


def _inverse_of(field: str) -> Callable[[str], float]:
    return lambda printed: 1.0 / _field(printed, field)


def _field(printed: str, field: str) -> float:
    found = re.search(rf"^\s*{field}: ([0-9.]+)$", printed, flags=re.MULTILINE)
    if found is None:
        raise ValueError(f"stress-ng printed no {field}")
    return float(found[1])


PEERS = (
    Peer(
        name="stress-ng --context",
        case="switch/swapcontext@same",
        metric="switch",
        command=_command("context"),
        seconds=_inverse_of("swapcontext-calls-per-sec"),
        same="swapcontext(); stress-ng walks over three contexts and checks them",
    ),
    Peer(
        name="stress-ng --vfork",
        case="create/vfork@same",
        metric="vfork",
        command=_command("vfork"),
        seconds=_inverse_of("bogo-ops-per-second-real-time"),
        same="vfork, exit and wait; stress-ng's loop counts and times each one",
    ),
    Peer(
        name="stress-ng --fork",
        case="create/fork[resident_mib=0]@same",
        metric="fork",
        command=_command("fork"),
        seconds=_inverse_of("bogo-ops-per-second-real-time"),
        same="fork, exit and wait, of a larger process than ours, with calls of its own in the child",
    ),
)
