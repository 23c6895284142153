#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""waitress - a server in pure Python: one thread reads and writes for all, others run the application.

Known answer: the body of each application.  Limits: one process.
Source: the documentation of waitress.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from server import HOST, Server, main  # noqa: E402


class Waitress(Server):
    title = "waitress"
    module = "waitress"
    most_workers = 1

    def command(self):
        threads = [f"--threads={self.threads}"] if self.threads else []
        return [sys.executable, "-m", "waitress", f"--listen={HOST}:{self.port}", *threads, self.application]


main(Waitress)
