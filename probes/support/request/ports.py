# SPDX-License-Identifier: Apache-2.0
"""The port on which a server is weighed: a free one, and the connections that it still has."""

from __future__ import annotations

import socket
import time
from typing import Union

from probe import fail

HOST = "127.0.0.1"
_LOOKS_EVERY_S = 0.01


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_let_go(title: str, where: Union[int, str], within_s: float) -> None:
    """Wait until a server has closed what its clients have closed; fails the probe if it does not within this time.

    where: its port, or the path of its UNIX socket.
    """
    end = time.monotonic() + within_s
    while left := _open_connections(where) if isinstance(where, int) else _open_at(where):
        if time.monotonic() > end:
            fail(f"{title} leaks connections: {left} are open {within_s:g} s after their clients have gone")
        time.sleep(_LOOKS_EVERY_S)


def _open_connections(port: int) -> int:
    """TCP connections of this port on the loopback that its server has not closed, whoever holds them.

    Counted are those in ESTABLISHED and CLOSE_WAIT (states 01 and 08 of /proc/net/tcp) whose local end it is.
    """
    count = 0
    local = f"0100007F:{port:04X}"
    with open("/proc/net/tcp") as file:
        next(file)
        for line in file:
            if local in line:  # of the thousands that there may be
                fields = line.split()
                count += fields[1] == local and fields[3] in ("01", "08")
    return count


def _open_at(path: str) -> int:
    """Connections of a UNIX socket that its server has not closed: they have its path, and are in state 03."""
    count = 0
    with open("/proc/net/unix") as file:
        for line in file:
            if line.endswith(f" {path}\n"):
                count += line.split()[5] == "03"
    return count
