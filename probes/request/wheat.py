#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wheat - our own server, in Rust around CPython: applications and files.

Known answer: the body of each application.  Limits: none of what is measured here.
Source: engines/wheat.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

import shutil  # noqa: E402
import subprocess  # noqa: E402

from server import HOST, Server, main  # noqa: E402


class Wheat(Server):
    title = "wheat"
    #: Beside the interpreter, where pip puts it, or anywhere else.
    program = shutil.which("wheat", path=os.path.dirname(sys.executable)) or shutil.which("wheat")

    @classmethod
    def missing(cls):
        return None if cls.program else "wheat is not installed: make build builds it where cargo is"

    def command(self):
        threads = ["--threads", str(self.threads)] if self.threads else []
        return [
            *(self.program, "--bind", f"{HOST}:{self.port}", "--workers", str(self.workers), *threads),
            *(("--static", f"/static={self.files}") if self.files else (self.application,)),
        ]

    def version(self):
        said = subprocess.run([self.program, "--version"], stdout=subprocess.PIPE, check=False).stdout.decode()
        return (said.split() or [""])[-1]


main(Wheat)
