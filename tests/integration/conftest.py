# SPDX-License-Identifier: Apache-2.0
"""The laboratory of each test, and the rogue, built once."""

import pytest

from tests import processes
from tests.integration.laboratory import ROGUE, laboratory  # noqa: F401 - a fixture


@pytest.fixture(scope="session")
def rogue(tmp_path_factory):
    """The program of all rogues."""
    return processes.compiled(ROGUE, tmp_path_factory.mktemp("rogue") / "rogue")
