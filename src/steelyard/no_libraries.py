# SPDX-License-Identifier: Apache-2.0
"""The one sentence where the libraries are missing, one of which shows all others."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from steelyard.errors import InstallationError


def end(error: ModuleNotFoundError) -> NoReturn:
    """Say what to type, and end the process."""
    # No escape sequence gets through `ascii`, whatever the path of the interpreter holds.
    name, interpreter = ascii(error.name)[1:-1], ascii(sys.executable)[1:-1]
    words = (
        f"steelyard: {name} is not installed for {interpreter}: run `make build` in a checkout and call "
        ".venv/bin/steelyard, or run `pip install .`\n"
    )
    os.write(2, words.encode())
    sys.exit(InstallationError.exit_code)
