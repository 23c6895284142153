#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gunicorn_gthread - gunicorn with its gthread worker: a pool of threads a process.

Known answer: the body of each application.
Limits: a connection that is kept waits in a poll of its own between two requests.
Source: the documentation of gunicorn.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from gunicorn_command import gunicorn  # noqa: E402
from server import Server, main  # noqa: E402


class GunicornGthread(Server):
    title = "gunicorn (gthread)"
    family = "gunicorn"
    module = "gunicorn"

    def command(self):
        return gunicorn(self, "gthread")


main(GunicornGthread)
