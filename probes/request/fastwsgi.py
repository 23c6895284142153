#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fastwsgi - a server in C over libuv and llhttp.

Known answer: the body of each application.  Limits: one thread; it keeps the interpreter for ever.
Source: the README of fastwsgi.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from server import Server, main  # noqa: E402


class Fastwsgi(Server):
    title = "fastwsgi"
    module = "fastwsgi"
    most_workers = most_threads = 1

    def command(self):
        return self.python("import fastwsgi\nfastwsgi.run(wsgi_app=application, host=host, port=port)")


main(Fastwsgi)
