# SPDX-License-Identifier: Apache-2.0
"""Whether there is a night's time: `make test-all` says so, and what only long runs find is then looked for."""

import os

LONG = os.environ.get("STEELYARD_LONG") == "1"


def parts(short: int, long: int, most: int = 100) -> list[tuple[int, int]]:
    """The numbers of the parts of a test, each with how much it tries: a long run is cut into parts of some minutes.

    `make test` tries ``short`` in one part, `make test-all` ``long`` in parts of at most ``most``.
    """
    return list(enumerate([min(most, long - done) for done in range(0, long, most)] if LONG else [short]))
