# SPDX-License-Identifier: Apache-2.0
"""Limits of this process that would end it by a signal if they were met."""

from __future__ import annotations

import os
import resource

from steelyard.errors import OutOfMemoryError

_GIB = 2**30
#: V8, which draws the charts and packs their script, reserves this many addresses, whatever it uses of them. Where it
#: gets fewer it ends the program by a signal.
V8_BYTES = 68 * _GIB
#: DuckDB and its threads, one a CPU, reserve addresses; with fewer than this it fails in the middle, or waits for ever.
SQL_BYTES = 4 * _GIB + (os.cpu_count() or 1) * _GIB // 64


def require_addresses(size: int, what: str) -> None:
    """Raise OutOfMemoryError if `ulimit -v` leaves fewer addresses than ``what`` needs."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < size:
        raise OutOfMemoryError(
            f"{what} needs {size / _GIB:.1f} GiB of addresses, which are not memory, and `ulimit -v` leaves "
            f"{limit / _GIB:.1f} GiB: try again after `ulimit -v unlimited`"
        )
