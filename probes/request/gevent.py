#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gevent - its WSGI server: a greenlet a connection over libev, in Python; what the study of 2013 compared with.

Known answer: the body of each application.
Limits: one process, one thread. It writes head and body apart and leaves Nagle on, so that an answer on a kept
connection waits for the acknowledgement of its head, 40 ms where the client delays it.
Source: the documentation of gevent.pywsgi.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from server import Server, main  # noqa: E402


class Gevent(Server):
    title = "gevent"
    module = "gevent"
    most_workers = most_threads = 1

    def command(self):
        return self.python("""
from gevent import monkey
monkey.patch_all()
from gevent.pywsgi import WSGIServer
WSGIServer((host, port), application, log=None).serve_forever()
""")


main(Gevent)
