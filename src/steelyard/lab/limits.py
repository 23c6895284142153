# SPDX-License-Identifier: Apache-2.0
"""Limits of this process that would end it by a signal if they were met."""

from __future__ import annotations

import resource

from steelyard.errors import OutOfMemoryError

#: V8, which draws the charts, reserves this many addresses, whatever it uses of them.
V8_BYTES = 68 * 2**30


def require_addresses(size: int, what: str) -> None:
    """Raise OutOfMemoryError if `ulimit -v` leaves fewer addresses than ``what`` needs."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < size:
        raise OutOfMemoryError(
            f"{what} needs {size // 2**30} GiB of addresses, which are not memory, and `ulimit -v` leaves "
            f"{limit / 2**30:.1f} GiB: try again after `ulimit -v unlimited`"
        )
