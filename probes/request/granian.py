#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""granian - a server in Rust over hyper and tokio; a thread of its own calls the application.

Known answer: the body of each application.
Limits: files are served by its own static mount, which sends them in chunks.
Source: the documentation of granian.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from server import HOST, Server, main  # noqa: E402


class Granian(Server):
    title = "granian"
    module = "granian"

    def command(self):
        threads = ["--blocking-threads", str(self.threads)] if self.threads else []
        return [
            *(sys.executable, "-m", "granian", "--interface", "wsgi", "--no-ws", "--log-level", "error"),
            *("--host", HOST, "--port", str(self.port), "--workers", str(self.workers), *threads),
            *(("--static-path-route", "/static", "--static-path-mount", self.files) if self.files else ()),
            self.application,
        ]


main(Granian)
