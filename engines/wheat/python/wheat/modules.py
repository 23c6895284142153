# SPDX-License-Identifier: Apache-2.0
"""Where the modules that are imported by now came from; for `--reload`."""

import os
import sys


def folders():
    """The folders of their files, as bytes."""
    found = set()
    for module in list(sys.modules.values()):
        # Not by getattr: a module that loads itself when it is first used stays unused.
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str):
            found.add(os.path.dirname(os.path.abspath(file)))  # noqa: PTH100, PTH120, pathlib would cost memory in every worker
    return [os.fsencode(folder) for folder in found]
