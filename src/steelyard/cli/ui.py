# SPDX-License-Identifier: Apache-2.0
"""`steelyard ui`: the sessions of a folder in the browser."""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.cli import _output as output
from steelyard.errors import UsageError
from steelyard.keep import folder as folders
from steelyard.keep.session import sessions_folder
from steelyard.lab.server import NO_TOKEN, Server


def command(folder: Path | None = None, *, port: int = 0, token: str | None = None) -> None:
    """Show the sessions of a folder in the browser: list, filter, compare two, the history of a case, the report.

    Only this machine can reach it, it only reads, and it needs no network. It ends with Ctrl-C.

    Parameters
    ----------
    folder
        Folder of session files; the sessions folder when left out.
    port
        Port on 127.0.0.1; any that is free when 0.
    token
        What the address must have in it; drawn when left out. With ``none`` every user of this machine may read the
        sessions.
    """
    place = folder or sessions_folder()
    folders.find([place])
    try:
        server = Server(place, port, token, complain=output.complain)
    except (OSError, OverflowError) as error:
        raise UsageError(f"port {port} cannot be had ({error}): choose another with --port, or leave it out") from error
    with server:
        words = output.console()
        words.print(f"sessions of {place} on {server.entrance}", soft_wrap=True)
        if server.token is None:
            words.print(f"--token {NO_TOKEN}: every user of this machine can read them")
        words.print("Ctrl-C ends it")
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
