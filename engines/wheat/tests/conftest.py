# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests of wheat: they import their helpers by name, whatever folder pytest was started in, and the
fuzz targets run beside the others, which mostly wait."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fuzzing import Fuzzing

_FUZZ = Path(__file__).with_name("test_fuzz.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """By the time that their tests are reached the fuzz targets have run."""
    items.sort(key=lambda item: item.path == _FUZZ)


@pytest.fixture(scope="session", autouse=True)
def fuzzing(request: pytest.FixtureRequest) -> Iterator[Fuzzing | None]:
    """The fuzz targets, running since the first test of this folder, if their tests were asked for."""
    if not any(item.path == _FUZZ for item in request.session.items):
        yield None
        return
    with Fuzzing() as running:
        yield running
