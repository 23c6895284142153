# SPDX-License-Identifier: Apache-2.0
"""The laboratory of the integration tests serves here as well."""

from tests.integration.laboratory import laboratory  # noqa: F401 - a fixture
