#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wsgiref - the standard library's server, which is there to try things out: one request at a time, one a connection.

Known answer: the body of each application.  Limits: one process, one thread, HTTP/1.0, every connection is closed.
Source: Lib/wsgiref/simple_server.py.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from server import Server, main  # noqa: E402


class Wsgiref(Server):
    title = "wsgiref"
    module = "wsgiref"
    properties = {"meant for": "development"}
    most_workers = most_threads = 1
    refuses = {"keep_alive=yes": "speaks HTTP/1.0 and closes each connection"}

    def command(self):
        return self.python("""
from wsgiref.simple_server import WSGIRequestHandler, make_server
class Handler(WSGIRequestHandler):
    def log_message(self, *_):
        pass
make_server(host, port, application, handler_class=Handler).serve_forever()
""")


main(Wsgiref)
