# SPDX-License-Identifier: Apache-2.0
import signal

import pytest

from tests.integration.laboratory import laboratory  # noqa: F401 - a fixture
from tests.long import LONG

#: Longest that the commands of one test may take; they take seconds on a quiet machine, and minutes in a long run.
HANGS_S = 1200 if LONG else 300


@pytest.fixture
def _nothing_hangs():
    def hung(*_):
        raise TimeoutError("a command hangs")

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(HANGS_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
