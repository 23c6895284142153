# SPDX-License-Identifier: Apache-2.0
"""The commands: one file each, found by looking in this folder. A file defines `command`; its name is the file's.

A folder holds the commands of a group in the same way, and says in its docstring what the group is for. A file whose
name begins with an underscore is shared by commands and is none itself.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterable
from pathlib import Path

from cyclopts import App, Parameter

import steelyard

#: An option that is left away is off: no option has a second one, such as --no-json, that says so.
_PARAMETER = Parameter(negative=())


def build_app() -> App:
    """The whole command line, from every module of this folder that is a command.

    A command is imported when it is run or when its own help is asked for: together they take more than a second. What
    the list of all commands says of it is read from its source.
    """
    app = App(
        name="steelyard",
        help=steelyard.__doc__,
        version=steelyard.__version__,
        default_parameter=_PARAMETER,
        suppress_keyboard_interrupt=False,
    )
    _add(app, __name__, __path__)
    return app


def _add(app: App, package: str, path: Iterable[str]) -> None:
    """Add the commands of a folder."""
    for module in pkgutil.iter_modules(path):
        where = f"{package}.{module.name}"
        if module.name.startswith("_"):
            continue
        if module.ispkg:
            folder = importlib.import_module(where)
            group = App(name=module.name, help=folder.__doc__, default_parameter=_PARAMETER)
            _add(group, where, folder.__path__)
            app.command(group)
        else:
            [source] = [file for folder in path if (file := Path(folder) / f"{module.name}.py").is_file()]
            app.command(f"{where}:command", name=module.name, help=_description(source))


def _description(source: Path) -> str:
    """What a command says of itself, before its parameters."""
    functions = [node for node in ast.parse(source.read_bytes()).body if isinstance(node, ast.FunctionDef)]
    [command] = [function for function in functions if function.name == "command"]
    return (ast.get_docstring(command) or "").partition("\n\nParameters\n")[0]
