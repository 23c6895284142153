# SPDX-License-Identifier: Apache-2.0
"""`python -m wheat`: becomes the command `wheat` that was installed with this package."""

import os
import sys
import sysconfig
from pathlib import Path

program = Path(sysconfig.get_path("scripts")) / "wheat"
try:
    os.execv(program, ["wheat", *sys.argv[1:]])  # noqa: S606, no shell is the point
except FileNotFoundError:
    sys.exit(f"wheat: there is no {program}: install the package again, or run the command wheat itself")
