# SPDX-License-Identifier: Apache-2.0
"""What the processor counted in a value, by ../c/counters.h as a library; of every thread of this process.

Opened when all values have been timed, for batches that are run again for the counts alone. Python 3.8 or later.
"""

from __future__ import annotations

import ctypes
import os
from typing import Dict, List

_MOST = 4  # COUNTERS_MAX
_LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libcounters.so")


class Absent(Exception):  # noqa: N818 - no error: a run without counts is as good
    """Nothing can be counted here, and why not."""


class Counters:
    """The open counters of all threads; raises Absent where there are none."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(_LIBRARY, use_errno=True)
        except OSError as error:
            raise Absent(f"the library that reads counters is not there: {error}") from error
        for name in ("counters_scope", "counters_absent", "counters_name"):
            getattr(self._library, name).restype = ctypes.c_char_p
        self._library.counters_open.restype = self._library.counters_read.restype = ctypes.c_bool
        opened = self._library.counters_open(None, 0)
        self.absent: str = self._library.counters_absent().decode()  #: why nothing is counted, or not all
        if not opened:
            raise Absent(self.absent)
        self.scope: str = self._library.counters_scope().decode()
        names = [self._library.counters_name(event) for event in range(_MOST)]
        self._events = {event: name.decode() for event, name in enumerate(names) if name}

    def read(self) -> Dict[str, List[int]]:
        """What has been counted so far: the count, and the times for which it was enabled and was counted."""
        counted = (ctypes.c_uint64 * (3 * _MOST))()
        if not self._library.counters_read(counted):
            raise OSError(f"cannot read the counters: {os.strerror(ctypes.get_errno())}")
        return {name: list(counted[3 * event : 3 * event + 3]) for event, name in self._events.items()}

    def close(self) -> None:
        """Count no more."""
        self._library.counters_close()
