# SPDX-License-Identifier: Apache-2.0
"""Connections that an application keeps: as many as it has requests at once, whether by threads or by greenlets.

One a thread would be a new one for every request where each connection of a client has a greenlet.
"""


def asking(connect, ask):
    """A function that asks by a connection which no other request uses just now, or by a new one."""
    idle = []  # its pop and append are atomic

    def asked():
        try:
            connection = idle.pop()
        except IndexError:
            connection = connect()
        found = ask(connection)
        idle.append(connection)
        return found

    return asked
