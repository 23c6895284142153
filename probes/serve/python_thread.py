#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_thread - a thread of Python for each connection, as socketserver's ThreadingTCPServer has it.

Known answer: checksum and result of each request.
Limits: but for free-threaded builds, threads work in turns under the interpreter's lock.
Source: the documentation of Python's socketserver.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "serve")

import threading  # noqa: E402

import serve  # noqa: E402


def _serve() -> None:
    listener = serve.listening()
    while True:
        taken, _ = listener.accept()
        threading.Thread(target=serve.connection, args=(taken,), daemon=True).start()


serve.main("Python thread a connection", "documentation of socketserver", _serve, each="thread")
