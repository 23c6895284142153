# SPDX-License-Identifier: Apache-2.0
"""`steelyard history`: a case over all sessions."""

from __future__ import annotations

from steelyard.cli import _output as output
from steelyard.cli._output import Margin
from steelyard.keep import folder
from steelyard.lab.many import history_of
from steelyard.show import history


def command(case: str, *places: str, margin: Margin = 0.02, json: bool = False) -> None:
    """Show a case over the sessions of each machine, where its level changed, and what else changed there.

    Parameters
    ----------
    case
        ``call/syscall@same``, or a pattern that stands for one case: ``switch/pipe[kind=thread]``.
    places
        Folders, files or patterns of session files; the sessions folder when left out.
    json
        Print one object a machine with all sessions and changes, figures in base units.
    """
    found = history_of(case, folder.find(places), margin, output.complain)
    if json:
        output.print_json(history.as_json(found))
    else:
        history.show(found, output.console())
