# SPDX-License-Identifier: Apache-2.0
"""The commands: one file each, found by looking in this folder. A file defines `command`; its name is the file's."""

from __future__ import annotations

import importlib
import pkgutil

from cyclopts import App

import steelyard


def build_app() -> App:
    """The whole command line, from every module of this folder that defines `command`."""
    app = App(
        name="steelyard",
        help=steelyard.__doc__,
        version=steelyard.__version__,
        default_parameter=None,
    )
    for module in pkgutil.iter_modules(__path__):
        command = getattr(importlib.import_module(f"{__name__}.{module.name}"), "command", None)
        if command is not None:
            app.command(command, name=module.name)
    return app
