#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cheroot - the server of CherryPy, in pure Python with a pool of threads.

Known answer: the body of each application.  Limits: one process.
Source: the documentation of cheroot.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from server import HOST, Server, main  # noqa: E402


class Cheroot(Server):
    title = "cheroot"
    module = "cheroot"
    most_workers = 1

    def command(self):
        threads = ["--threads", str(self.threads), "--max-threads", str(self.threads)] if self.threads else []
        return [sys.executable, "-m", "cheroot", "--bind", f"{HOST}:{self.port}", *threads, self.application]


main(Cheroot)
