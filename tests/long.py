# SPDX-License-Identifier: Apache-2.0
"""Whether there is a night's time: `make test-all` says so, and what only long runs find is then looked for."""

import os

LONG = os.environ.get("STEELYARD_LONG") == "1"
