# SPDX-License-Identifier: Apache-2.0
"""The models of serve/, found by looking, and the module of their instrument."""

import importlib
import sys

from steelyard.measure import catalog

MODELS = {
    name.partition("/")[2]: path
    for name, path in catalog.find_programs(catalog.probe_folders()).items()
    if name.startswith("serve/")
}


def _instrument():
    """The module drive.py, whose own modules have names that others have as well."""
    before, known = list(sys.path), set(sys.modules)
    sys.path.insert(0, str(catalog.native_folder() / "probes" / "support" / "serve"))
    try:
        return importlib.import_module("drive")
    finally:
        sys.path[:] = before
        for name in set(sys.modules) - known:
            del sys.modules[name]


drive = _instrument()
