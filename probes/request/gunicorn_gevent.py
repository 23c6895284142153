#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gunicorn_gevent - gunicorn with its gevent worker: a greenlet a connection.

Known answer: the body of each application.  Limits: one thread a process.
Source: the documentation of gunicorn.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from gunicorn_command import gunicorn  # noqa: E402
from server import Server, main  # noqa: E402


class GunicornGevent(Server):
    title = "gunicorn (gevent)"
    family = "gunicorn"
    module = "gunicorn"
    most_threads = 1
    needs = ("gevent",)

    def command(self):
        return gunicorn(self, "gevent")


main(GunicornGevent)
