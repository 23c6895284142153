#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bjoern - a server in C around libev and Node's first parser, as small as they come.

Known answer: the body of each application.  Limits: one thread; several workers would be processes that the user forks.
Source: bjoern's README.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from server import Server, main  # noqa: E402


class Bjoern(Server):
    title = "bjoern"
    module = "bjoern"
    most_workers = most_threads = 1

    def command(self):
        return self.python("import bjoern\nbjoern.run(application, host, port)")


main(Bjoern)
