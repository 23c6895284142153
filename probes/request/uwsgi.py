#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""uwsgi - the server in C that embeds the interpreter, as pyuwsgi: its HTTP socket without a router before it.

Known answer: the body of each application.
Limits: each connection is closed after its answer, as a header says that it is told to send.
Files are served by its own mapping.
Source: the documentation of uWSGI.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

import signal  # noqa: E402

from server import HOST, Server, backlog, main  # noqa: E402


class Uwsgi(Server):
    title = "uWSGI"
    module = "pyuwsgi"
    refuses = {"keep_alive=yes": "closes each connection on its HTTP socket; see request/uwsgi_router"}
    stop_signal = signal.SIGINT  # SIGTERM means that it loads itself again

    def command(self):
        threads = ["--threads", str(self.threads)] if self.threads > 1 else []
        return [
            *(sys.executable, "-c", "import sys, pyuwsgi; pyuwsgi.run(sys.argv[1:])"),
            *("--http-socket", f"{HOST}:{self.port}", "--add-header", "Connection: close", "--master"),
            *("--processes", str(self.workers), *threads, "--disable-logging", "--need-app", "--listen", backlog()),
            *(("--static-map", f"/static={self.files}") if self.files else ("--wsgi", self.application)),
        ]


main(Uwsgi)
