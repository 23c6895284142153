# SPDX-License-Identifier: Apache-2.0
"""The commands: one file each, found by looking in this folder. A file defines `command`; its name is the file's.

A folder holds the commands of a group in the same way, and says in its docstring what the group is for. A file whose
name begins with an underscore is shared by commands and is none itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence

from cyclopts import App, Parameter

import steelyard


def build_app(wanted: Sequence[str] = ()) -> App:
    """The whole command line, from every module of this folder that is a command.

    When the wanted command is known, by the words of the command line, only that one is imported now: scipy alone takes
    half a second. Without it all are, because help shows what each says of itself.
    """
    app = App(
        name="steelyard",
        help=steelyard.__doc__,
        version=steelyard.__version__,
        # An option that is left away is off: no option has a second one, such as --no-json, that says so.
        default_parameter=Parameter(negative=()),
    )
    _add(app, __name__, __path__, wanted)
    return app


def _add(app: App, package: str, path: Iterable[str], wanted: Sequence[str] | None) -> None:
    """Add the commands of a folder. ``wanted``: the words that may name one of them; None if others are wanted."""
    modules = [module for module in pkgutil.iter_modules(path) if not module.name.startswith("_")]
    first = wanted[0] if wanted else None
    known = wanted is None or first in {module.name for module in modules}
    for module in modules:
        name, where = module.name, f"{package}.{module.name}"
        if module.ispkg:
            folder = importlib.import_module(where)
            group = App(name=name, help=folder.__doc__)
            _add(group, where, folder.__path__, None if wanted is None or (known and name != first) else wanted[1:])
            app.command(group)
        elif known:
            app.command(f"{where}:command", name=name)
        else:
            app.command(importlib.import_module(where).command, name=name)
