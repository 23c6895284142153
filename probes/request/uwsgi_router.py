#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""uwsgi_router - uWSGI behind its own HTTP router, a process that keeps connections open and passes requests on.

Known answer: the body of each application.
Limits: the router writes an answer in two parts and leaves Nagle on unless it is told otherwise, as here it is not.
Source: the documentation of uWSGI.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

import signal  # noqa: E402

from server import HOST, Server, backlog, main  # noqa: E402


class UwsgiRouter(Server):
    title = "uWSGI with its router"
    module = "pyuwsgi"
    stop_signal = signal.SIGINT  # SIGTERM means that it loads itself again

    def command(self):
        threads = ["--threads", str(self.threads)] if self.threads > 1 else []
        return [
            *(sys.executable, "-c", "import sys, pyuwsgi; pyuwsgi.run(sys.argv[1:])"),
            *("--http", f"{HOST}:{self.port}", "--http-keepalive", "--http-auto-chunked", "--master"),
            *("--processes", str(self.workers), *threads, "--disable-logging", "--need-app", "--listen", backlog()),
            *(("--static-map", f"/static={self.files}") if self.files else ("--wsgi", self.application)),
        ]


main(UwsgiRouter)
