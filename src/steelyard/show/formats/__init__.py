# SPDX-License-Identifier: Apache-2.0
"""Foreign formats, one file each, found by looking in this folder.

A module that reads defines ``recognises(data)`` and ``read(data, path)``; one that writes comparisons defines
``comparisons(found)``, which returns the text.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

import msgspec

from steelyard.errors import SessionFileError
from steelyard.records import ForeignFile


def modules() -> dict[str, ModuleType]:
    """Every format by name."""
    return {
        module.name: importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    }


def read(contents: bytes, path: str) -> ForeignFile:
    """Read a JSON file of another tool; raises SessionFileError when no format knows it."""
    readers = {name: module for name, module in modules().items() if hasattr(module, "recognises")}
    try:
        data: Any = msgspec.json.decode(contents)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise SessionFileError(f"{path} is neither a session nor a JSON file: {error}") from error
    for module in readers.values():
        if isinstance(data, dict) and module.recognises(data):
            try:
                found: ForeignFile = module.read(data, path)
            except (msgspec.ValidationError, KeyError, TypeError, ValueError) as error:
                raise SessionFileError(
                    f"{path} looks like a file of {module.TOOL} but is malformed: {error}"
                ) from error
            return found
    known = ", ".join(module.TOOL for module in readers.values())
    raise SessionFileError(f"{path} is neither a session nor a file of {known}")
