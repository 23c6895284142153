# SPDX-License-Identifier: Apache-2.0
from tests.integration.laboratory import laboratory  # noqa: F401 - a fixture
