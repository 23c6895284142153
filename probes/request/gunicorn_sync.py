#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gunicorn_sync - gunicorn with its sync worker: one request at a time a process, and every connection closed.

Known answer: the body of each application.  Limits: each connection is closed after its answer.
Source: the documentation of gunicorn.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from gunicorn_command import gunicorn  # noqa: E402
from server import Server, main  # noqa: E402


class GunicornSync(Server):
    title = "gunicorn (sync)"
    family = "gunicorn"
    module = "gunicorn"
    most_threads = 1
    refuses = {"keep_alive=yes": "closes each connection, as its sync worker keeps none"}

    def command(self):
        return gunicorn(self, "sync")


main(GunicornSync)
