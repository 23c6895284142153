# SPDX-License-Identifier: Apache-2.0
"""The commands: one file each, found by looking in this folder. A file defines `command`; its name is the file's.

A file whose name begins with an underscore is shared by commands and is none itself.
"""

from __future__ import annotations

import importlib
import pkgutil

from cyclopts import App

import steelyard


def build_app(wanted: str | None = None) -> App:
    """The whole command line, from every module of this folder that is a command.

    When the wanted command is known, only that one is imported now: scipy alone takes half a second. Without it all
    are, because help shows what each says of itself.
    """
    app = App(
        name="steelyard",
        help=steelyard.__doc__,
        version=steelyard.__version__,
        default_parameter=None,
    )
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    for name in names:
        where = f"{__name__}.{name}"
        if wanted in names:
            app.command(f"{where}:command", name=name)
        else:
            app.command(importlib.import_module(where).command, name=name)
    return app
