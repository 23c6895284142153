# SPDX-License-Identifier: Apache-2.0
"""Accepts what the golden tests got as what they want, after its differences were read: `make golden`."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Show every difference and move the .got files over the wanted ones."""
    found = sorted(HERE.glob("*.got"))
    for got in found:
        wanted = got.with_suffix("")
        before = wanted.read_text().splitlines(keepends=True) if wanted.exists() else []
        sys.stdout.writelines(
            difflib.unified_diff(before, got.read_text().splitlines(keepends=True), wanted.name, got.name)
        )
        got.replace(wanted)
    sys.stdout.write(f"accepted {len(found)} files; read the differences above before they are committed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
