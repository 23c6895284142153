# SPDX-License-Identifier: Apache-2.0
"""Signals that ask a measurement to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from steelyard.errors import Interrupted

_ASKING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Raise Interrupted on SIGTERM and SIGHUP for as long as the context lasts, so that nothing is left behind.

    Not where whoever started this program asked that a signal be ignored, as nohup does, and not outside of such a
    context: a program that is in the middle of a long call of a library could not be ended by SIGTERM.
    """
    mine = threading.current_thread() is threading.main_thread()
    taken = [number for number in _ASKING if mine and signal.getsignal(number) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    raise Interrupted(number)
